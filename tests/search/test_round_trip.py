"""What is written as JSON reads back as the same record, inside lists too."""

from __future__ import annotations

import datetime as dt
from typing import Annotated

import pytest
from pydantic import BeforeValidator, ValidationError

from evalnb.search.request import QueryRequest, Record, _as_tuple
from evalnb.search.result import Hit, Identities, PageLocator, QueryResult


class Requests(Record):
    """A list of requests, as a report keeps them."""

    requests: Annotated[tuple[QueryRequest, ...], BeforeValidator(_as_tuple)]


def test_a_date_inside_a_list() -> None:
    kept = Requests(requests=(QueryRequest(query="fee", as_of=dt.date(2020, 2, 29)),))
    assert Requests.model_validate_json(kept.model_dump_json()) == kept


@pytest.mark.parametrize("value", ['"2021-02-29"', '"2021-1-1"', '"2021-01-01T10:00"', "20210101"])
def test_what_is_no_date(value: str) -> None:
    with pytest.raises(ValidationError, match="as_of"):
        QueryRequest.model_validate_json(f'{{"query": "fee", "as_of": {value}}}')


def test_a_box_on_a_page_inside_a_list() -> None:
    locator = PageLocator(path="a.pdf", page=1, box=(0.0, 0.0, 10.0, 20.0))
    kept = QueryResult(hits=(Hit(rank=1, ids=Identities(unit_id="u"), locator=locator),))
    assert QueryResult.model_validate_json(kept.model_dump_json()) == kept
