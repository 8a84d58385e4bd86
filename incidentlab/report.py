"""Answers and charts -> the view -> one HTML file that needs nothing else.

The view is made once and never changed; templates write it down without arithmetic. Texts of logs are neutralised
before they enter it. Nothing asks a clock: the same warehouse and the same `now` give the same bytes.
"""

import base64
import hashlib
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import chain, groupby
from pathlib import PurePath
from typing import Any, NamedTuple

import jinja2
import polars as pl

from incidentlab import answers, assets, canvas, charts, figures, pictures
from incidentlab.answers import Connection
from incidentlab.neutral import neutral

LISTED_ROWS = 200
"""Rows of a table that stand in the page without JavaScript."""

EVIDENCE_LINES = 5
"""Lines of evidence shown of one interruption; the warehouse has all."""

REPEATS = 2
"""Lines shown of one signature in one interruption."""

RIVALS = 3
"""Causes shown that were considered and not chosen."""

MESSAGE_CHARACTERS = 200
"""Characters shown of one line of evidence."""

_COUNTS = ("unplanned", "planned", "policy", "confirmed", "suspected", "unattributed", "top_interruptions")
_ROLES = ("trigger", "contributing", "symptom", "teardown", "context")
_ATTACHED = ("interruption_evidence", "interruption_hypotheses")

_NAMED = re.compile(r'view\.(?:rows|asks)\.(\w+)|\b(?:asked|chart|table)\(view, "(\w+)"')
"""How a template names a question."""

Rows = list[dict[str, Any]]


class Line(NamedTuple):
    """One line of evidence: its role, its time from the end of the attempt, its place, its text."""

    role: str
    delta: str
    path: str
    line_no: int
    message: str


class Proof(NamedTuple):
    """What speaks for a verdict: lines in order of time, how many more there are; and the causes not chosen."""

    lines: list[Line]
    left: int
    rivals: list[str]


@dataclass(frozen=True, slots=True)
class Section:
    """One part of the page: its anchor, its heading, its HTML, and whether it has something to say without attempts."""

    name: str
    title: str
    html: str
    stands_alone: bool


@dataclass(frozen=True, slots=True)
class View:
    """Everything that the templates may show."""

    title: str
    """Heading of the page."""
    made_ts: datetime
    """When the report was made, UTC, as the caller says."""
    tool_version: str
    """Version of the program."""
    headline: dict[str, Any]
    """The one row of query `headline`."""
    is_empty: bool
    """True if no attempt was found, so that there is nothing to count."""
    basis: str
    """What the mean time to interruption of the headline divides by what, in words."""
    lead: str
    """The sentence that is right on its own: count, window, size, rate, interval and basis."""
    notes: tuple[str, ...]
    """Sentences after the lead: confidence, largest cause, loss, what was not counted."""
    rows: Mapping[str, Rows]
    """Answer of each query, texts neutralised."""
    asks: Mapping[str, str]
    """The sentence that each query asks."""
    charts: Mapping[str, str]
    """SVG of each chart by query; absent where there is nothing to draw."""
    proofs: Mapping[str, Proof]
    """Evidence and rival causes by interruption."""
    meta: Mapping[str, str]
    """Versions, settings and digests that the warehouse was built with."""
    payload: Mapping[str, Any]
    """What the page's script reads: answers by column, charts without their rows, proofs."""


def render(con: Connection, *, title: str | None, now: datetime, tool_version: str) -> str:
    """The report of a warehouse as one HTML page.

    `now` is the UTC instant that the page names as its date. Raises `WarehouseError` if a question cannot be asked.
    """
    view = see(con, title=title, now=now, tool_version=tool_version)
    return write(view)


def see(con: Connection, *, title: str | None, now: datetime, tool_version: str) -> View:
    """The view of a warehouse: every question asked, every chart drawn."""
    frames = _ask(con)
    rows = {name: frame.to_dicts() for name, frame in frames.items()}
    headline = rows["headline"][0]
    basis = {row["basis"]: row["description"] for row in rows["mtti"]}[headline["mtti_basis"]]
    specs = {name: charts.spec(name, frames[name]) for name in charts.DRAWINGS if not frames[name].is_empty()}
    proofs = _proofs(rows["interruption_evidence"], rows["interruption_hypotheses"])
    return View(
        title=neutral(title or "Interruptions of training"),
        made_ts=now,
        tool_version=tool_version,
        headline=headline,
        is_empty=not headline["attempts"],
        basis=basis,
        lead=lead(headline, basis),
        notes=notes(headline),
        rows=rows,
        asks={name: query.asks for name, query in answers.load_queries().items()},
        charts={name: pictures.svg(spec) for name, spec in specs.items()},
        proofs=proofs,
        meta=dict(_neutralised(answers.select(con, "select key, value from meta order by key")).rows()),
        payload={
            "answers": {name: _columns(frame) for name, frame in frames.items() if name not in _ATTACHED},
            "charts": {name: _unfilled(spec) for name, spec in specs.items()},
            **_packed(proofs),
        },
    )


def _ask(con: Connection) -> dict[str, pl.DataFrame]:
    """The answers to the questions that a template names, and to those that the page itself needs."""
    texts = "".join(path.read_text(encoding="utf-8") for path in assets.folder("templates").rglob("*.html"))
    named = {"headline", "mtti", *_ATTACHED, *charts.DRAWINGS, *chain.from_iterable(_NAMED.findall(texts))}
    return {name: _neutralised(answers.ask(con, name)) for name in answers.load_queries() if name in named}


def _neutralised(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with control and invisible characters of its texts spelled out."""
    return frame.with_columns(pl.col(pl.String).map_elements(neutral, return_dtype=pl.String))


def _proofs(evidence: Rows, hypotheses: Rows) -> dict[str, Proof]:
    """What speaks for and against the verdict of each interruption that has either."""
    lines, causes = _by_interruption(evidence), _by_interruption(hypotheses)
    return {key: _proof(lines.get(key, []), causes.get(key, [])) for key in sorted({*lines, *causes})}


def _by_interruption(rows: Rows) -> dict[str, Rows]:
    return {key: list(group) for key, group in groupby(rows, key=lambda row: str(row["interruption_id"]))}


def _proof(evidence: Rows, hypotheses: Rows) -> Proof:
    chosen = _telling(evidence)
    lines = [
        Line(row["role"], figures.lag(row["delta_s"]), row["path"], row["line_no"], _shortened(row["message"] or ""))
        for row in chosen
    ]
    rivals = [_rival(row) for row in hypotheses if not row["is_selected"]]
    return Proof(lines, len(evidence) - len(chosen), rivals[:RIVALS])


def _packed(proofs: Mapping[str, Proof]) -> dict[str, Any]:
    """The proofs with each path once: lines name it by its place in `paths`."""
    paths = sorted({line.path for proof in proofs.values() for line in proof.lines})
    places = {path: place for place, path in enumerate(paths)}
    packed = {
        key: [[(role, lag, places[path], *rest) for role, lag, path, *rest in proof.lines], proof.left, proof.rivals]
        for key, proof in proofs.items()
    }
    return {"paths": paths, "proofs": packed}


def _telling(rows: Rows) -> Rows:
    """At most `EVIDENCE_LINES`: the first of each signature before its repeats, telling roles first; in time order."""
    seen: Counter[str] = Counter()
    ranked = []
    for row in rows:
        ranked.append((seen[row["signature"]], _ROLES.index(row["role"]), row["seq"], row))
        seen[row["signature"]] += 1
    chosen = sorted(entry for entry in ranked if entry[0] < REPEATS)[:EVIDENCE_LINES]
    return [row for *_, row in sorted(chosen, key=lambda entry: entry[2])]


def _rival(row: Mapping[str, Any]) -> str:
    """A cause that was not chosen, in a sentence."""
    against = row["against"] or "weaker evidence"
    return f"{row['label'] or row['component']}: {row['rule']}. Against it: {against}."


def _shortened(message: str) -> str:
    return message if len(message) <= MESSAGE_CHARACTERS else message[:MESSAGE_CHARACTERS] + " …"


def lead(headline: Mapping[str, Any], basis: str) -> str:
    """The report in one sentence, with interval and basis, fit to be copied into a mail."""
    if not headline["attempts"]:
        return "No attempts were found, so nothing can be said about interruptions."
    days, gpus = headline["window_days"], headline["gpu_count"]
    window = "" if days is None else f" in {figures.fixed(days, 1)} days"
    size = f" on {figures.plural(gpus, 'GPU')}" if gpus else ""
    stopped = f"Training was interrupted {figures.plural(headline['unplanned'], 'time')} without plan{window}{size}"
    mean, limits = figures.figure(headline["mtti_h"]), figures.interval(headline, "mtti_h")
    if limits is None:
        return f"{stopped}; mean time to interruption n/a - needs start and end of attempts."
    if mean is None:
        return f"{stopped}; mean time to interruption {limits} h (95%, {basis})."
    return f"{stopped}: once every {mean} h (95% {limits}; {basis})."


def notes(headline: Mapping[str, Any]) -> tuple[str, ...]:
    """What a reader must know beside the lead: certainty, largest cause, loss, what is not counted."""
    if not headline["attempts"]:
        return ()
    said = {name: figures.count(headline[name]) for name in _COUNTS}
    top = f"Most frequent: {headline['top_label']}, {said['top_interruptions']} of {said['unplanned']}."
    loss = figures.bounded(headline, "lost_gpu_h")
    return (
        f"Causes: {said['confirmed']} confirmed, {said['suspected']} suspected, {said['unattributed']} unattributed.",
        *([top] if headline["top_label"] else []),
        f"Lost: {loss} GPU-hours." if loss else "Lost GPU-hours: n/a - needs progress or checkpoint lines.",
        f"Not counted: {said['planned']} planned and {said['policy']} policy stops.",
    )


def _columns(frame: pl.DataFrame) -> dict[str, list[Any]]:
    """The frame column by column: field names stand once in the page instead of once a row."""
    rows = canvas.values(frame)
    return {name: [row[name] for row in rows] for name in frame.columns}


def _unfilled(specification: Mapping[str, Any]) -> dict[str, Any]:
    """The chart without its rows, which the page's script takes from the answers."""
    return {**specification, "data": {"name": specification["data"]["name"]}}


def write(view: View) -> str:
    """The page: each section of `templates/sections` in the order of its file name, inside `templates/report.html`."""
    environment = _environment()
    script = _script()
    names = sorted(environment.list_templates(filter_func=_is_section))
    sections = [_section(environment, name, view) for name in names]
    return environment.get_template("report.html").render(
        view=view,
        sections=[section for section in sections if section.stands_alone or not view.is_empty],
        style=_asset("report.css"),
        scripts=[pictures.bundle(), script],
        groups=charts.GROUPS,
        policy=_policy(pictures.bundle(), script),
    )


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(assets.folder("templates")),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(figures.FILTERS)
    environment.globals.update(listed_rows=LISTED_ROWS, grades=figures.GRADES)
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "allow_nan": False}
    return environment


def _is_section(name: str) -> bool:
    return name.startswith("sections/") and name.endswith(".html")


def _section(environment: jinja2.Environment, template: str, view: View) -> Section:
    """The section of a file `sections/NN-name.html`, which sets `title` and may set `stands_alone`."""
    module: Any = environment.get_template(template).make_module({"view": view, "groups": charts.GROUPS})
    name = PurePath(template).stem.split("-", 1)[1]
    return Section(name, module.title, str(module), getattr(module, "stands_alone", False))


def _asset(name: str) -> str:
    return (assets.folder("templates") / "assets" / name).read_text(encoding="utf-8")


def _script() -> str:
    """The page's own script: the files of `templates/assets` in order, in one function of their own."""
    parts = sorted((assets.folder("templates") / "assets").glob("*.js"))
    return '(function () {\n"use strict";\n' + "".join(part.read_text(encoding="utf-8") for part in parts) + "})();\n"


def _policy(*scripts: str) -> str:
    """The Content-Security-Policy: no request at all, and no script but these."""
    hashes = " ".join(f"'sha256-{_digest(script)}'" for script in scripts)
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data:;"
        " base-uri 'none'; form-action 'none'"
    )


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
