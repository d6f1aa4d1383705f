"""Read the real collections that benchmarks and tests measure on; nothing of them is copied.

The folder is ``EVALNB_DATA``, else ``shared/data`` beside the project.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from evalnb.gold.cases import GoldCase, GoldDataset, dataset_from_cases
from evalnb.search.request import QueryRequest

# Cleverdon's codes run from 1, a complete answer, to 4, of minimum interest; -1 is a slip of the
# file for documents of no interest.
CRANFIELD_GRADES = {1: 4, 2: 3, 3: 2, 4: 1, -1: 0}


def data_folder() -> Path:
    """Return the folder of the collections."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    return Path(os.environ.get("EVALNB_DATA", beside))


def smart_records(path: Path) -> Iterator[dict[str, str]]:
    """Read a SMART file: ``.I`` begins a record, ``.T``, ``.A``, ``.B``, ``.W`` its parts."""
    for part in re.split(r"^\.I ", path.read_text(), flags=re.M)[1:]:
        number, *fields = re.split(r"^\.([TABW])\n", part, flags=re.M)
        record = dict(zip(fields[::2], fields[1::2], strict=True))
        yield {"I": number.strip(), **{key: value.strip() for key, value in record.items()}}


def cranfield(folder: Path) -> tuple[dict[str, Any], GoldDataset]:
    """Return the 1,400 abstracts as a corpus and the 225 questions as gold.

    Judgements name queries by their position in the file, not by the number printed there.
    """
    documents = [
        {"path": r["I"], "title": r.get("T", "").replace("\n", " "), "text": r.get("W") or "(none)"}
        for r in smart_records(folder / "cran.all.1400")
    ]
    judged: dict[str, dict[str, int]] = {}
    for line in (folder / "cranqrel").read_text().splitlines():
        query, document, code = line.split()
        judged.setdefault(query, {})[document] = CRANFIELD_GRADES[int(code)]
    cases = tuple(
        GoldCase(
            case_id=str(position),
            split="development",
            request=QueryRequest(query=" ".join(r["W"].split())),
            document_relevance=judged.get(str(position), {}),
        )
        for position, r in enumerate(smart_records(folder / "cran.qry"), 1)
    )
    corpus = {"sources": [{"key": "cranfield", "documents": documents}]}
    return corpus, dataset_from_cases(cases, dataset_id="cranfield")


def xquad(path: Path, language: str) -> tuple[dict[str, Any], GoldDataset]:
    """Return the paragraphs as a corpus and the questions as gold, a family for each paragraph."""
    documents, cases = [], []
    for article in json.loads(path.read_text())["data"]:
        for paragraph in article["paragraphs"]:
            name = f"p{len(documents):03d}"
            documents.append(
                {"path": name, "title": article["title"], "text": paragraph["context"]}
            )
            cases += [
                GoldCase(
                    case_id=question["id"],
                    family_key=name,
                    split="development",
                    language=language,
                    request=QueryRequest(query=question["question"]),
                    document_relevance={name: 1},
                )
                for question in paragraph["qas"]
            ]
    corpus = {"sources": [{"key": "xquad", "documents": documents}]}
    return corpus, dataset_from_cases(tuple(cases), dataset_id=f"xquad-{language}")
