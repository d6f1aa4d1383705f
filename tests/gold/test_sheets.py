"""xlsx: a cell is the text that was typed, or an error that names it."""

from __future__ import annotations

import datetime as dt
import io
import zipfile
from collections.abc import Callable
from typing import Any

import openpyxl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from openpyxl.worksheet.formula import ArrayFormula

from evalnb.errors import EvalnbError, GoldError, LimitExceededError, NotFoundError
from evalnb.gold.golden import Parsed
from evalnb.gold.tabular import sheets
from evalnb.gold.tabular.rows import parse_table
from evalnb.gold.tabular.sheets import read_sheet, write_sheet

HEADER = ["query", "expected", "grade"]


def workbook(*rows: list[Any], change: Callable[[Any], object] = lambda _: None) -> bytes:
    book = openpyxl.Workbook()
    book.active.title = "Q"
    for row in rows:
        book.active.append(row)
    change(book)
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def read(data: bytes, **options: Any) -> Parsed:
    return parse_table(read_sheet(data, name="q.xlsx", **options))


def ids(parsed: Parsed) -> list[str]:
    return [key for case in parsed.cases for key in case.expected.document_ids]


def test_text_cells_are_text() -> None:
    typed = ["007", "1e5", "2301.12900", "NA", "TRUE", "2024-01-02", " x "]
    parsed = read(workbook(HEADER, *([f"q{i}", text, 1] for i, text in enumerate(typed))))
    assert ids(parsed) == [text.strip() for text in typed]


def test_carriage_returns_are_line_breaks() -> None:
    # openpyxl writes a text as it is: this is what Excel keeps for a carriage return.
    parsed = read(workbook(HEADER, ["q_x000D_", "a_x000D_\nb_x000D_c", 1]))
    assert (parsed.cases[0].request.query, ids(parsed)) == ("q", ["a", "b", "c"])


def test_plain_whole_numbers_are_what_was_typed() -> None:
    parsed = read(workbook(HEADER, [2024, 7, 2], ["b", 123456789012345, 1.0]))
    assert ids(parsed) == ["7", "123456789012345"]
    assert parsed.cases[0].request.query == "2024"


def formatted(value: object, number_format: str) -> bytes:
    def change(book: Any) -> None:
        book.active["B2"].value = value
        book.active["B2"].number_format = number_format

    return workbook(HEADER, ["q", "x", 1], change=change)


CELLS: dict[str, tuple[bytes, str]] = {
    "007 by its format": (formatted(7, "000"), "B2: Excel keeps the number 7 here"),
    "1e5": (formatted(1e5, "0.00E+00"), "B2: Excel keeps the number 100000 here"),
    "fraction": (workbook(HEADER, ["q", 2301.129, 1]), "B2: Excel keeps the number 2301.129"),
    "16 digits": (workbook(HEADER, ["q", 10**15, 1]), "B2: Excel keeps the number"),
    "date": (workbook(HEADER, ["q", dt.date(2024, 1, 2), 1]), "B2: Excel made the date or time"),
    "time": (workbook(HEADER, ["q", dt.time(9), 1]), "B2: Excel made the date or time"),
    "boolean": (workbook(HEADER, ["q", True, 1]), "B2: Excel made the truth value True of it"),
    "formula": (workbook(HEADER, ["=1+1", "x", 1]), "A2: a formula ('=1+1')"),
    "formula as grade": (workbook(HEADER, ["q", "x", "=SUM(A1)"]), "C2: a formula"),
    "array formula": (
        workbook(HEADER, [ArrayFormula("A2", "=A1"), "x", 1]),
        "A2: a formula ('=A1')",
    ),
    "error": (workbook(HEADER, ["q", "#N/A", 1]), "B2: the error #N/A"),
    "grade": (workbook(HEADER, ["q", "x", 1.5]), "C2: a grade is a whole number, found '1.5'"),
    "stray": (workbook(HEADER, ["q", "x", 1, None, "!"]), "the cell E2 stands under no column"),
    "unknown column": (
        workbook(["query", "Answer"], ["q", "x"]),
        "unknown column 'Answer'; the first row",
    ),
    "no query": (workbook(HEADER, ["q", "x", 1], [None, "y", 1]), "A3: a row with expected, grade"),
}


@pytest.mark.parametrize(("data", "finding"), CELLS.values(), ids=CELLS)
def test_a_cell_is_refused(data: bytes, finding: str) -> None:
    with pytest.raises(GoldError) as caught:
        read(data)
    assert finding in str(caught.value)
    assert "q.xlsx sheet 'Q'" in str(caught.value)


def test_merged_cells_are_refused_where_gold_stands() -> None:
    data = workbook(
        HEADER, ["a", "x", 1], [None, "y", 1], change=lambda b: b.active.merge_cells("A2:A3")
    )
    with pytest.raises(GoldError, match="the cells A2:A3 are merged"):
        read(data)
    beside = workbook(HEADER, ["a", "x", 1], change=lambda b: b.active.merge_cells("F2:G3"))
    assert ids(read(beside)) == ["x"]


def test_blank_rows_and_columns_are_no_rows() -> None:
    blank = [None, None, None]
    data = workbook(blank, [None, *HEADER], blank, [None, "q", "x", 1], blank, [" ", "", None])
    assert ids(read(data)) == ["x"]


def test_a_format_down_to_the_last_row_costs_nothing_much() -> None:
    def change(book: Any) -> None:
        book.active.cell(1_048_576, 16_384).number_format = "0.00"

    assert ids(read(workbook(HEADER, ["q", "x", 1], change=change))) == ["x"]


def test_a_made_up_row_number_ends_the_reading() -> None:
    file, source = io.BytesIO(), zipfile.ZipFile(io.BytesIO(workbook(HEADER, ["q", "x", 1])))
    with zipfile.ZipFile(file, "w") as archive:
        for part in source.namelist():
            content = source.read(part)
            if part.endswith("sheet1.xml"):
                content = content.replace(b'<row r="2"', b'<row r="4000000000"')
            archive.writestr(part, content)
    with pytest.raises(GoldError, match="a row past number 1,048,576"):
        read(file.getvalue())


def test_the_first_visible_sheet_is_read_and_the_others_are_named() -> None:
    def change(book: Any) -> None:
        hidden = book.create_sheet("Old", 0)
        hidden.append(HEADER)
        hidden.append(["q", "old", 1])
        hidden.sheet_state = "hidden"
        book.create_sheet("Notes")

    data = workbook(HEADER, ["q", "new", 1], change=change)
    parsed = read(data)
    assert ids(parsed) == ["new"]
    assert parsed.notes == ("sheet 'Q' was read, not 'Old', 'Notes'",)
    assert ids(read(data, sheet="Old")) == ["old"]
    with pytest.raises(NotFoundError, match=r"no sheet 'Odl'; did you mean 'Old'.*Old, Q, Notes"):
        read(data, sheet="Odl")
    with pytest.raises(GoldError, match=r"the sheet 'Notes' is empty .*another one: 'Old', 'Q'"):
        read(data, sheet="Notes")


def test_an_error_names_the_other_sheets() -> None:
    def change(book: Any) -> None:
        book.create_sheet("Cover", 0).append(["Our", "questions"])
        book.create_sheet("Empty").append(HEADER)

    data = workbook(HEADER, ["q", "x", 1], change=change)
    with pytest.raises(GoldError, match=r"no column 'query'.*--sheet NAME.*: 'Q', 'Empty'\)"):
        read(data)
    with pytest.raises(GoldError, match=r"no rows under the header.*another one: 'Cover', 'Q'\)"):
        read(data, sheet="Empty")


def test_a_forbidden_tick_box() -> None:
    data = workbook(["query", "expected", "forbidden"], ["q", "x", True], ["q", "y", False])
    (case,) = read(data).cases
    assert (case.forbidden.document_ids, case.expected.document_ids) == (("x",), ("y",))


def test_what_is_no_workbook() -> None:
    with pytest.raises(GoldError, match=r"not an xlsx workbook \(save it as .xlsx"):
        read(b"query,expected\n")
    with pytest.raises(GoldError, match=r"before 2007, or one with a password"):
        read(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("word/document.xml", "<w/>")
    with pytest.raises(GoldError, match="not a readable workbook"):
        read(file.getvalue())


def test_a_bomb_is_not_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sheets, "UNPACKED_BYTES", 1000)
    with pytest.raises(LimitExceededError, match="unpacked bytes of the workbook"):
        read(workbook(HEADER))


WHOLE = workbook(HEADER, ["q", "x", 1])


@pytest.mark.soak
@given(st.data())
def test_a_damaged_workbook_gives_a_typed_error_or_its_rows(data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(WHOLE) - 1))
    damaged = WHOLE[:at] + data.draw(st.binary(max_size=2)) + WHOLE[at + 1 :]
    try:
        found = ids(read(damaged))
    except EvalnbError:
        return
    assert found == ["x"]


def test_what_is_written_is_text_and_reads_back() -> None:
    texts = ["=1+1", "+1", "-1", "@x", "007", "1e5", "'=x", "a\nb", "TRUE", "#N/A", "İ"]
    data = write_sheet([["query", "content"], *([text, "x"] for text in texts)], title="gold")
    sheet = openpyxl.load_workbook(io.BytesIO(data)).active
    assert {cell.data_type for row in sheet.iter_rows() for cell in row} == {"s"}
    assert [case.request.query for case in read(data).cases] == texts


@pytest.mark.parametrize(
    ("text", "finding"),
    [("a\x0bb", "A2: .*control character"), ("x" * 32_768, "A2: a text of 32,768 characters")],
)
def test_what_a_cell_cannot_hold(text: str, finding: str) -> None:
    with pytest.raises(GoldError, match=finding):
        write_sheet([["query"], [text]], title="gold")
