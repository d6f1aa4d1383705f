"""Parquet: some columns of a file, as lists of plain values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from evalnb.errors import GoldError
from evalnb.gold.trec_rows import UNPACKED_BYTES
from evalnb.limits import check_limit

MAGIC = b"PAR1"


def read_parquet(
    data: bytes, *, where: str, columns: Sequence[str], optional: Sequence[str] = ()
) -> dict[str, list[Any]]:
    """Read columns; those that are optional and not there are left out.

    Raises
    ------
    GoldError
        If the file is damaged, or lacks a column, naming those that it has.
    LimitExceededError
        If it unpacks to more than 1 GiB.
    """
    import pyarrow
    import pyarrow.parquet

    try:
        file = pyarrow.parquet.ParquetFile(pyarrow.py_buffer(data))
        groups = (file.metadata.row_group(at) for at in range(file.num_row_groups))
        size = sum(group.total_byte_size for group in groups)
        check_limit("unpacked bytes", size, UNPACKED_BYTES, argument="", where=where)
        there = file.schema_arrow.names
        if missing := [column for column in columns if column not in there]:
            raise GoldError(
                f"no column {missing[0]!r}; it has {', '.join(there) or 'none'}",
                where=where,
                remedy=f"columns that are read: {', '.join((*columns, *optional))}",
            )
        wanted = [*columns, *(column for column in optional if column in there)]
        found = {column: file.read([column])[column].to_pylist() for column in wanted}
        if len({*map(len, found.values())}) > 1:
            raise ValueError("its columns differ in length")
        return found
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise GoldError(f"the Parquet file is damaged: {error}", where=where) from error


def parquet_columns(data: bytes, *, where: str) -> frozenset[str]:
    """Name the columns of a file; none if it is no Parquet.

    Raises
    ------
    GoldError
        If the file is damaged.
    """
    import pyarrow
    import pyarrow.parquet

    if not data.startswith(MAGIC):
        return frozenset()
    try:
        return frozenset(pyarrow.parquet.read_schema(pyarrow.py_buffer(data)).names)
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise GoldError(f"the Parquet file is damaged: {error}", where=where) from error
