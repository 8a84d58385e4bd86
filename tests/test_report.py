"""The report as a file: what it says, that it is inert, and that it is the same every time."""

import base64
import hashlib
import json
import re
import shutil
from datetime import UTC, datetime

import pytest
from small_warehouse import known_warehouse, small_warehouse

from incidentlab import answers, assets, figures, report

NOW = datetime(2026, 3, 17, 8, 0, tzinfo=UTC)
BASIS = "hours of the period per unplanned interruption"
HOSTILE = "</script><img src=x onerror=alert(1)>\x1b[31m\u202e{{ 7 * 7 }}"


def page_of(con, title=None) -> str:
    """The report of a warehouse."""
    return report.render(con, title=title, now=NOW, tool_version="1.2.3")


@pytest.fixture(scope="module")
def page() -> str:
    """The report of the small warehouse."""
    return page_of(small_warehouse())


def headline(**changes) -> dict:
    """The headline of a campaign that was stopped 419 times."""
    known = {"attempts": 467, "unplanned": 419, "planned": 47, "policy": 0, "window_days": 54.0, "gpu_count": 16384}
    rate = {"mtti_h": 3.0928, "mtti_h_lo": 2.8106, "mtti_h_hi": 3.4118}
    causes = {"confirmed": 390, "suspected": 7, "unattributed": 22, "top_label": "Faulty GPU", "top_interruptions": 126}
    lost = {"lost_gpu_h": None, "lost_gpu_h_lo": None, "lost_gpu_h_hi": None}
    return {**known, **rate, **causes, **lost, **changes}


def test_lead_is_right_on_its_own() -> None:
    """The first sentence has the count, the window, the size, the rate, its interval and its basis."""
    assert report.lead(headline(), BASIS) == (
        "Training was interrupted 419 times without plan in 54.0 days on 16,384 GPUs: once every 3.09 h"
        " (95% 2.81\u20133.41; hours of the period per unplanned interruption)."
    )


def test_lead_without_an_interruption_gives_a_bound() -> None:
    """Nothing happened: the mean is at least so long, and never infinite."""
    silent = headline(unplanned=0, mtti_h=None, mtti_h_lo=351.3, mtti_h_hi=None)

    assert "interrupted 0 times" in report.lead(silent, BASIS)
    assert "\u2265 351 h (95%" in report.lead(silent, BASIS)


def test_lead_without_times_names_what_it_needs() -> None:
    """Attempts whose times are unknown have no window and no rate, and the sentence says so."""
    timeless = headline(window_days=None, mtti_h=None, mtti_h_lo=None, mtti_h_hi=None)

    assert report.lead(timeless, BASIS) == (
        "Training was interrupted 419 times without plan on 16,384 GPUs; mean time to interruption n/a"
        " - needs start and end of attempts."
    )


def test_lead_without_attempts_claims_nothing() -> None:
    """Without attempts there is no count, not a count of zero."""
    assert report.lead(headline(attempts=0, unplanned=None), BASIS) == (
        "No attempts were found, so nothing can be said about interruptions."
    )


def test_notes_say_what_is_missing() -> None:
    """A loss that nobody could compute is named with what it needs."""
    assert report.notes(headline()) == (
        "Causes: 390 confirmed, 7 suspected, 22 unattributed.",
        "Most frequent: Faulty GPU, 126 of 419.",
        "Lost GPU-hours: n/a - needs progress or checkpoint lines.",
        "Not counted: 47 planned and 0 policy stops.",
    )


def test_same_warehouse_gives_same_bytes(page) -> None:
    """The report depends on the warehouse and the given time alone."""
    assert page_of(small_warehouse()) == page


def test_sections_are_the_files_in_order(page) -> None:
    """Each file of the sections' folder is a part of the page, in the order of its name."""
    files = sorted((assets.folder("templates") / "sections").glob("*.html"))

    assert re.findall(r'<section id="([\w-]+)"', page) == [file.stem.split("-", 1)[1] for file in files]


def test_sections_begin_with_a_question(page) -> None:
    """Below each heading stands the sentence that the section answers."""
    sections = page.split("<section id=")[1:]

    assert all(re.search(r'</h2>\s*<p class="asks">[A-Z][^<]+\?', section) for section in sections)


def test_a_section_is_added_as_one_file(tmp_path, monkeypatch) -> None:
    """A new file in the sections' folder appears, with the question that it names."""
    folder = tmp_path / "templates"
    shutil.copytree(assets.folder("templates"), folder)
    text = '{% set title = "Coverage" %}{{ view.rows.interruption_coverage | length }} rows'
    (folder / "sections" / "85-coverage.html").write_text(text, encoding="utf-8")
    con, shipped = small_warehouse(), assets.folder
    monkeypatch.setattr(assets, "folder", lambda name: folder if name == "templates" else shipped(name))

    assert re.search(r'<section id="coverage".*?[1-9]\d* rows', page_of(con), flags=re.DOTALL)


def test_only_questions_that_are_named_are_asked(monkeypatch) -> None:
    """A word of the text, such as `mtti` in a sentence, names no question; what is drawn or shown is asked."""
    asked, ask = [], answers.ask
    monkeypatch.setattr(answers, "ask", lambda con, name, **params: (asked.append(name), ask(con, name, **params))[1])
    page_of(small_warehouse())

    assert {"headline", "data_quality", "weekly"} <= set(asked)
    assert set(asked).isdisjoint({"interruption_coverage", "line_fate"})


def test_the_comparison_names_its_fleet(page) -> None:
    """Heading and legend have the published fleet's own label."""
    con = small_warehouse()
    con.execute("update baselines set label = 'Fleet <X>' where baseline = 'llama3'")
    other = page_of(con)

    assert "Compared with Llama 3 405B pre-training (H100)</h2>" in page
    assert "Compared with Fleet &lt;X&gt;</h2>" in other
    assert "Fleet &lt;X&gt;, printed count, 95%" in other


def test_links_resolve_and_stay_inside(page) -> None:
    """Each link leads to a part of the page, and nothing is loaded from elsewhere."""
    shown = re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)
    targets = re.findall(r'(?:href|src)="([^"]*)"', shown)

    assert {target for target in targets if target.startswith("#") and f'id="{target[1:]}"' not in shown} == set()
    assert {target for target in targets if not target.startswith("#")} == {"data:,"}


def test_policy_allows_just_these_scripts(page) -> None:
    """The policy names the hash of each script of the page, no other source and no eval."""
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]+)"', page)[1].replace("&#39;", "'")
    scripts = re.findall(r"<script>(.*?)</script>", page, flags=re.DOTALL)
    hashes = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]

    assert policy == (
        f"default-src 'none'; script-src 'sha256-{hashes[0]}' 'sha256-{hashes[1]}'; style-src 'unsafe-inline';"
        " img-src data:; base-uri 'none'; form-action 'none'"
    )


def test_own_script_is_small() -> None:
    """The page's own script is below 40 kB."""
    assert len(report._script().encode()) < 40_000


def test_hostile_text_is_neutralised() -> None:
    """Markup, escapes, hidden turns and template syntax of a log are shown and do nothing."""
    con = small_warehouse()
    con.execute("update events set message = $1", [HOSTILE])
    con.execute("update interruptions set why = $1, node = $1", [HOSTILE])
    con.execute("update sources set path = $1 || source_id, reason = $1", [HOSTILE])
    page = re.sub(r"<script>.*?</script>", "", page_of(con, title=HOSTILE), flags=re.DOTALL)

    assert "<img" not in page
    assert re.findall("[\x00-\x08\x0b-\x1f\u202e]", page) == []
    assert r"&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;\x1b[31m\u202e{{ 7 * 7 }}" in page


def test_payload_holds_the_answers(page) -> None:
    """The page's script reads the same answers that the templates show."""
    payload = json.loads(re.search(r'id="payload">(.*?)</script>', page, flags=re.DOTALL)[1])
    frame = answers.ask(small_warehouse(), "root_cause_breakdown")

    assert payload["answers"]["root_cause_breakdown"]["interruptions"] == frame["interruptions"].to_list()
    assert "values" not in payload["charts"]["root_cause_breakdown"]["data"]


def test_missing_value_names_its_need(page) -> None:
    """A loss that could not be computed is not 0."""
    assert "n/a - needs progress lines" in page


def test_grades_are_explained_beside_the_key_figures(page) -> None:
    """What each grade means stands in words in the section of the key figures."""
    section = page[page.index('<section id="figures"') : page.index('<section id="timeline"')]

    assert all(f">{grade}</b> {meaning}" in section for grade, meaning in figures.GRADES.items())


def test_disputed_count_is_quoted_as_a_bracket(page) -> None:
    """The published row that contradicts itself is shown with both counts."""
    assert "126\u2013148" in page


def line(seq: int, role: str, signature: str) -> dict:
    """One row of evidence."""
    place = {"interruption_id": "i", "seq": seq, "line_no": seq, "path": "job.out", "delta_s": 0.0}
    return {**place, "role": role, "signature": signature, "message": "x" * 500}


def test_telling_lines_survive_the_limit() -> None:
    """Of many lines the trigger is kept, however late, and two of a kind; the order stays and the rest is counted."""
    rows = [line(seq, "symptom", "watchdog") for seq in range(1, 30)] + [line(30, "trigger", "xid")]
    proof = report._proofs(rows, [])["i"]

    assert [(entry.path, entry.line_no) for entry in proof.lines] == [("job.out", 1), ("job.out", 2), ("job.out", 30)]
    assert proof.left == 27
    assert len(proof.lines[0].message) == report.MESSAGE_CHARACTERS + 2


def test_rivals_say_what_speaks_against_them() -> None:
    """A cause that was considered and not chosen is a sentence; the chosen one is not among them."""
    cause = {
        "interruption_id": "i",
        "component": "host.nic",
        "label": "NIC",
        "rule": "its own line",
        "is_selected": True,
    }
    rival = {**cause, "label": "Faulty GPU", "is_selected": False, "against": "after the first symptom"}

    assert report._proofs([], [{**cause, "against": None}, rival])["i"].rivals == [
        "Faulty GPU: its own line. Against it: after the first symptom."
    ]


def test_empty_warehouse_says_what_was_read() -> None:
    """Without attempts the page still renders, counts the inputs and shows no figure."""
    con = known_warehouse()
    con.execute(
        "insert into sources (source_id, path, status, reason, lines) values ('s', 'a.jpg', 'unused', 'no log', 0)"
    )
    page = page_of(con)

    assert "No attempts were found. What was read: 0 sources used, 1 unused, 0 failed" in page
    assert re.findall(r'<section id="([\w-]+)"', page) == ["figures", "data-quality", "method"]
    assert "a.jpg" in page


def test_a_campaign_stays_below_three_megabytes() -> None:
    """466 interruptions with their evidence fit into 3 MB."""
    con = small_warehouse()
    for table in ("interruptions", "interruption_events", "hypotheses"):
        con.execute(
            f"insert into {table} select copy.* replace (interruption_id || '-' || n as interruption_id)"
            f" from {table} as copy, range(42) as more (n)"
        )

    assert len(page_of(con).encode()) < 3_000_000
