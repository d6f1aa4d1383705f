"""The drill-down: every case as one foldable block with its own address."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from evalnb.comparison.stages import Course
from evalnb.measures.scoring import ScoreRow
from evalnb.show.cases import SIGNS, CaseView, HitView, VariantView
from evalnb.show.excerpts import Excerpt
from evalnb.show.markup import case_anchor, is_web_address, link_html, text_html
from evalnb.show.numbers import NO_GOLD, NOTHING, format_difference, format_status, format_value
from evalnb.show.tables import measure_label, verdict_sign
from evalnb.show.text import one_line, plural

SUMMARISED = 8  # variants named one by one in a case's summary line
COURSES_SHOWN = 8  # relevant ids whose way is told, per variant
KEY_SHOWN = 24  # a longer id is a digest that says nothing to a reader
STATES = {
    "miss": "missed",
    "hit": "found",
    "regressed": "worse than the baseline",
    "improved": "better than the baseline",
    "failed": "search failed",
    "forbidden": "shows what is forbidden",
}
LEGEND = (
    f"{SIGNS['relevant']} relevant, {SIGNS['forbidden']} forbidden, "
    f"{SIGNS['not relevant']} judged not relevant, {SIGNS['unjudged']} unjudged. "
    "Rank is that of the first relevant hit, a difference is to the baseline. "
    "Marked text is what the gold asks for."
)
_CSS: dict[str, str] = {"relevant": ' class="r"', "forbidden": ' class="f"'}


def cases_html(views: Sequence[CaseView], *, compared: Sequence[str], baseline: str = "") -> str:
    """Write the filter and every case; without the script the filter stays hidden."""
    if not views:
        return "<p>No case to show.</p>"
    names = [variant.name for variant in views[0].variants]
    cases = (case_html(view, compared=compared, baseline=baseline) for view in views)
    return "\n".join([_filter_html(names), f'<p class="quiet">{LEGEND}</p>', *cases])


def _filter_html(names: Sequence[str]) -> str:
    states = "".join(f'<option value="{key}">{label}</option>' for key, label in STATES.items())
    variants = "".join(
        f'<option value="{at}">by {text_html(one_line(name, 40))}</option>'
        for at, name in enumerate(names)
    )
    return (
        '<form class="filter" role="search" aria-label="Filter the cases" hidden>'
        '<input type="search" name="q" placeholder="Words in question, id or hit" '
        'aria-label="Words in question, id or hit">'
        f'<select name="state" aria-label="State"><option value="">every case</option>{states}'
        "</select>"
        f'<select name="variant" aria-label="Variant"><option value="">by any variant</option>'
        f"{variants}</select>"
        '<button type="button">Open or close all</button>'
        '<output aria-live="polite"></output></form>'
    )


def case_states(view: CaseView) -> Iterator[str]:
    """Name what the filter can ask of a case: a state, and the state of the variant at N."""
    for at, variant in enumerate(view.variants):
        found = []
        if variant.failure is not None:
            found.append("failed")
        elif view.labelled:
            found.append("miss" if None in variant.first_ranks else "hit")
        change = view.changes.get(variant.name)
        if change is not None:
            found.append("improved" if change.gain > 0 else "regressed")
        if any(hit.sign == "forbidden" for hit in variant.hits):
            found.append("forbidden")
        for state in found:
            yield state
            yield f"{state}:{at}"


def case_html(
    view: CaseView,
    *,
    compared: Sequence[str],
    baseline: str = "",
    opened: bool = False,
    charts: Mapping[str, str] | None = None,
    picture: Callable[[HitView], str] | None = None,
) -> str:
    """Write one case.

    Parameters
    ----------
    charts
        Pictures of the ways of relevant ids, by variant, in place of the notes that tell them.
    picture
        Writes HTML that stands under a hit.
    """
    case = view.case
    drawn = charts or {}
    sides = (_variant_html(v, baseline, picture, ways=v.name not in drawn) for v in view.variants)
    ways = (f"<div><h3>{text_html(name)}</h3>{chart}</div>" for name, chart in drawn.items())
    lead = f'<div class="charts">{"".join(ways)}</div>' if drawn else ""
    states = " ".join(dict.fromkeys(case_states(view)))
    query = text_html(one_line(case.request.query, 300))
    return (
        f'<details class="case" id="{case_anchor(case.case_id)}" data-s="{states}"'
        f"{' open' * opened}><summary>"
        f'<span class="id">{text_html(case.case_id)}</span> <span class="query">{query}</span>'
        f'<span class="ranks">{_ranks_html(view)}</span></summary>\n'
        f"{_facts_html(view)}{_scores_html(view, compared)}{lead}"
        f'<div class="sides">{"".join(sides)}</div>'
        "</details>"
    )


def _ranks_html(view: CaseView) -> str:
    if len(view.variants) > SUMMARISED:
        found = sum(v.failure is None and None not in v.first_ranks for v in view.variants)
        failed = sum(v.failure is not None for v in view.variants)
        text = f"found by <b>{found}</b> of {plural(len(view.variants), 'variant')}"
        return text + (f", {failed} n/a" if failed else "")
    return " · ".join(_rank_html(view, variant) for variant in view.variants)


def _rank_html(view: CaseView, variant: VariantView) -> str:
    outcome = _outcome(view, variant)
    rank = "rank " if outcome[0].isdigit() else ""
    text = f"{text_html(one_line(variant.name, 40))}: {rank}<b>{outcome}</b>"
    change = view.changes.get(variant.name)
    if change is not None:
        tone = "better" if change.gain > 0 else "worse"
        moved = f"{text_html(change.measure)} {format_difference(change.difference)}"
        text += f' <span class="{tone}">{verdict_sign(tone)} {moved}</span>'
    return text


def _facts_html(view: CaseView) -> str:
    case = view.case
    rows = [
        ("note", case.description),
        ("expected", "; ".join(view.expected)),
        ("forbidden", "; ".join(view.forbidden)),
        ("identifiers", ", ".join(case.request.exact_identifiers)),
        ("restricted to", _restriction(view)),
        ("kind of question", case.intent),
        ("language", case.language),
        ("family", case.family_key),
        ("tags", ", ".join(f"{key}={value}" for key, value in case.tags.items())),
    ]
    if not view.labelled:
        rows.insert(1, ("gold", "nothing is labelled: N/A (no gold)"))
    body = "".join(f"<dt>{name}</dt><dd>{text_html(text)}</dd>" for name, text in rows if text)
    full = case.request.query
    if one_line(full, 300) != full:
        body = f"<dt>question</dt><dd>{text_html(full)}</dd>" + body
    return f"<dl>{body}</dl>" if body else ""


def _restriction(view: CaseView) -> str:
    request = view.case.request
    parts = [
        f"{kind} {', '.join(ids)}"
        for kind, ids in (
            ("sources", request.source_ids),
            ("documents", request.document_ids),
            ("revisions", request.revision_ids),
            ("exact matches of", request.exact_identifiers if request.exact_only else ()),
        )
        if ids
    ]
    return "; ".join([*parts, *([f"as of {request.as_of}"] if request.as_of else [])])


def _scores_html(view: CaseView, compared: Sequence[str]) -> str:
    """Set the compared measures of all variants side by side; without gold, only name them."""
    rows = [(v, [s for s in v.scores if s.measure in compared]) for v in view.variants]
    every = [score for _, scores in rows for score in scores]
    measures = list(dict.fromkeys(_score_label(s) for s in every if s.status != "undefined"))
    silent = list(dict.fromkeys(_score_label(s) for s in every if _score_label(s) not in measures))
    note = f'<p class="quiet">{NO_GOLD}: {text_html(", ".join(silent))}</p>' if silent else ""
    if not measures:
        return note
    head = "".join(f'<th class="n" scope="col">{text_html(label)}</th>' for label in measures)
    body = ""
    for variant, scores in rows:
        values = {_score_label(s): format_status(s.status, s.value, s.reason) for s in scores}
        cells = [_outcome(view, variant), *(values.get(label, NOTHING) for label in measures)]
        numbers = "".join(f'<td class="n">{text_html(cell)}</td>' for cell in cells)
        body += f"<tr><td>{text_html(variant.name)}</td>{numbers}</tr>"
    return (
        '<div class="scroll" tabindex="0" role="group" aria-label="scores"><table><thead><tr>'
        f'<th scope="col">variant</th><th class="n" scope="col">first relevant</th>{head}</tr>'
        f"</thead><tbody>{body}</tbody></table></div>{note}"
    )


def _outcome(view: CaseView, variant: VariantView) -> str:
    return variant.outcome if view.labelled or variant.failure is not None else "no gold"


def _score_label(score: ScoreRow) -> str:
    return measure_label(score.measure, score.k, score.kind if ":" in score.measure else None)


def _variant_html(
    variant: VariantView,
    baseline: str,
    picture: Callable[[HitView], str] | None,
    *,
    ways: bool,
) -> str:
    mark = " (baseline)" if variant.name == baseline else ""
    parts = [f"<section><h3>{text_html(variant.name)}{mark}</h3>"]
    if variant.failure is not None:
        parts.append(f'<p class="worse">n/a: {text_html(one_line(variant.failure, 500))}</p>')
    elif not variant.hits:
        parts.append("<p>Nothing was returned.</p>")
    if variant.hits:
        hits = (_hit_html(hit, picture(hit) if picture else "") for hit in variant.hits)
        parts.append(f'<ul class="hits">{"".join(hits)}</ul>')
    parts += [f'<p class="quiet">{note}</p>' for note in _notes(variant, ways=ways)]
    return "".join(parts) + "</section>\n"


def _hit_html(hit: HitView, picture: str) -> str:
    url = hit.url if hit.url and is_web_address(hit.url) else hit.key
    name = link_html(one_line(hit.name, 120), url)
    details = [] if hit.score is None else [format_value(hit.score)]
    if hit.key != hit.name and len(hit.key) <= KEY_SHOWN:
        details.append(text_html(hit.key))
    if hit.grade is not None and hit.grade not in (0, 1):
        details.append(f"grade {hit.grade}")
    details += [f"{text_html(name)} {rank}" for name, rank in hit.channels]
    if hit.moved:
        details.append(hit.moved)
    small = f" <small>{' · '.join(details)}</small>" if details else ""
    css, own_css = ' class="c"' if hit.is_code else "", _CSS.get(hit.sign, "")
    text = f"<p{css}>{_excerpt_html(hit.excerpt)}</p>" if hit.excerpt else ""
    return f"<li{own_css}><b>{hit.rank} {SIGNS[hit.sign]}</b> {name}{small}{text}{picture}</li>"


def _excerpt_html(excerpt: Excerpt) -> str:
    text = "".join(
        f"<mark>{text_html(piece)}</mark>" if marked else text_html(piece)
        for piece, marked in excerpt.pieces
    )
    before = "…" if excerpt.n_before else ""
    hidden = excerpt.n_before + excerpt.n_after
    return f"{before}{text}… ({hidden:,} more)" if hidden else text


def _notes(variant: VariantView, *, ways: bool) -> Iterator[str]:
    """Say what else is known of a search: duplicates, candidates, trace."""
    if variant.failure is not None:
        return
    if variant.duplicates_dropped:
        n = variant.duplicates_dropped
        yield f"{plural(n, 'duplicate')} dropped before ranks were counted."
    missing = [
        name
        for name, value in (("Candidates", variant.courses), ("Trace", variant.decisions))
        if value is None
    ]
    if missing:
        yield f"{' and '.join(missing)}: not recorded."
    yield from _courses(variant.courses or ()) if ways else ()
    for decision in variant.decisions or ():
        yield f"Trace: {text_html(one_line(decision, 300))}"


def _courses(found: Sequence[Course]) -> Iterator[str]:
    """Write the way of each relevant id through the stages of a search."""
    for course in found[:COURSES_SHOWN]:
        channels = ", ".join(
            f"{text_html(name)} {rank or 'absent'}" for name, rank in course.channels
        )
        *before, (_, returned) = course.stages
        steps = [channels, *(f"{name} {rank or 'absent'}" for name, rank in before)]
        end = f"returned {returned}" if returned else "not returned"
        yield f"{SIGNS['relevant']} {text_html(course.name)}: {' → '.join([*steps, end])}"
    if len(found) > COURSES_SHOWN:
        yield f"and {len(found) - COURSES_SHOWN:,} more that are relevant"


def cases_text(views: Iterable[CaseView]) -> str:
    """Write one line per case for a terminal."""
    lines = []
    for view in views:
        ranks = " · ".join(f"{one_line(v.name, 24)} {v.outcome}" for v in view.variants)
        lines.append(f"{view.case.case_id}  {one_line(view.case.request.query, 60)}  [{ranks}]")
    return "\n".join(lines) or "No case to show."
