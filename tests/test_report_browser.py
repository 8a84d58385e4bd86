"""The report in a real browser, opened as a file: it draws, filters, stays silent and can be read without scripts."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from small_warehouse import small_warehouse

from incidentlab import figures, report

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

CHROMIUM = Path("/usr/bin/chromium")
SWITCHES = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-quic",
    "--no-first-run",
    "--disable-component-update",
    "--disable-sync",
]
HOSTILE = "=1+1</script><img src=x onerror=alert(1)>\x1b[31m\u202e{{ 7 * 7 }}"

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not CHROMIUM.exists(), reason=f"there is no {CHROMIUM}"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


@pytest.fixture(scope="module")
def browser():
    """Debian's Chromium without a window."""
    with sync_api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=str(CHROMIUM), args=SWITCHES)
        yield chromium
        chromium.close()


def written(folder: Path, con) -> str:
    """The address of a warehouse's report in a file."""
    page = report.render(con, title=None, now=datetime(2026, 3, 17, tzinfo=UTC), tool_version="1.2.3")
    file = folder / "report.html"
    file.write_text(page, encoding="utf-8")
    return file.as_uri()


@pytest.fixture(scope="module")
def address(tmp_path_factory) -> str:
    """The report of the small warehouse: 11 interruptions, 9 of them unplanned, 4 confirmed."""
    return written(tmp_path_factory.mktemp("report"), small_warehouse())


@pytest.fixture
def open_page(browser):
    """Open an address; what the page says on the console, throws or asks for is gathered in `page.noise`."""
    contexts = []

    def open_page(url: str, **options):
        context = browser.new_context(viewport={"width": options.pop("width", 1280), "height": 900}, **options)
        contexts.append(context)
        page = context.new_page()
        page.noise = []
        page.on("console", lambda message: page.noise.append(message.text))
        page.on("pageerror", lambda error: page.noise.append(str(error)))
        page.on("dialog", lambda dialog: (page.noise.append(dialog.message), dialog.dismiss()))
        page.on(
            "request", lambda request: request.url == url.split("#", maxsplit=1)[0] or page.noise.append(request.url)
        )
        page.goto(url)
        return page

    yield open_page
    for context in contexts:
        context.close()


def draw_all(page) -> int:
    """Scroll to every chart, wait until each is interactive, and count them."""
    charts = page.locator("[data-chart]")
    for place in range(charts.count()):
        charts.nth(place).scroll_into_view_if_needed()
        page.locator("[data-drawn]").nth(place).wait_for()
    return charts.count()


def shown(page) -> str:
    """The sentence of the live region."""
    return page.locator("#shown").inner_text()


def listed(page) -> int:
    """Rows of the table of interruptions."""
    return page.locator("#interruptions tbody").first.locator("tr:not(.detail)").count()


def cells(page) -> list[str]:
    """All texts of all table cells but the evidence, whose rows are made when they are opened."""
    return page.eval_on_selector_all("tbody tr:not(.detail) td", "cells => cells.map(cell => cell.textContent)")


def test_opens_in_silence_and_draws(open_page, address) -> None:
    """From a file: no word on the console, no request, and every chart is drawn."""
    page = open_page(address)

    assert draw_all(page) == 5
    assert page.locator("[data-drawn] svg path").count() > 20
    assert page.noise == []


def test_brush_filters_everything(open_page, address) -> None:
    """Dragging across the first half of the timeline leaves its rows in table, key figures and address."""
    page = open_page(address)
    chart = page.locator("[data-chart=interruption_timeline]")
    chart.scroll_into_view_if_needed()
    page.locator("[data-chart=interruption_timeline][data-drawn]").wait_for()
    box = chart.locator("svg").bounding_box()
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] * 0.2, middle)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.4, middle, steps=5)
    page.mouse.move(box["x"] + box["width"] * 0.5, middle, steps=5)
    page.mouse.up()
    page.wait_for_function("!document.getElementById('shown').textContent.startsWith('11 ')")

    assert 0 < listed(page) < 11
    assert shown(page) == f"{listed(page)} of 11 shown"
    assert int(page.locator("[data-card=unplanned] .value").inner_text()) < 9
    assert "from=2026-03-" in page.url
    assert page.noise == []


def test_fields_do_what_the_brush_does(open_page, address) -> None:
    """Without a mouse: from and to select, the chart's brush follows, and reset shows all again."""
    page = open_page(address)
    draw_all(page)
    page.fill("[name=from]", "2026-03-03")
    page.fill("[name=to]", "2026-03-05 18:00")
    page.keyboard.press("Enter")

    assert shown(page) == "3 of 11 shown"
    assert listed(page) == 3
    assert page.locator("[data-card=unplanned] .value").inner_text() == "3"
    assert float(page.locator(".brush_brush path, .brush_brush rect").first.bounding_box()["width"]) > 50

    page.get_by_role("button", name="Reset").click()

    assert shown(page) == "11 of 11 shown"
    assert page.noise == []


def test_a_cause_is_chosen_by_bar_or_by_list(open_page, address) -> None:
    """A click on a bar and the list of causes do the same; a second choice of a cause takes it back."""
    page = open_page(address)
    draw_all(page)
    page.locator("[data-chart=root_cause_breakdown] .mark-rect.role-mark path").first.click(force=True)

    assert shown(page) == "2 of 11 shown"
    assert page.locator("#causes").inner_text() == "Faulty GPU ×"  # noqa: RUF001 - the sign that takes it away

    page.select_option("[name=cause]", "Faulty GPU")

    assert shown(page) == "11 of 11 shown"
    assert page.noise == []


def test_a_field_that_cannot_be_read_says_so(open_page, address) -> None:
    """A wrong time is marked and changes nothing."""
    page = open_page(address)
    page.fill("[name=from]", "last tuesday")
    page.keyboard.press("Enter")

    assert page.locator("[name=from]").get_attribute("aria-invalid") == "true"
    assert shown(page) == "11 of 11 shown"


def test_address_carries_the_filter(open_page, address) -> None:
    """A mailed link opens the same view, limits included: 4 confirmed in 336 h are 84 h (32.8 to 312) apart by Byar."""
    page = open_page(address + "#confidence=confirmed&bucket=unplanned")

    assert shown(page) == "4 of 11 shown"
    assert page.locator("[data-card=mtti] .value").inner_text() == "84 h"
    assert page.locator("[data-card=mtti] .interval").inner_text() == "95% 32.8\u2013312"


def test_a_time_keeps_the_basis_of_the_mean(open_page, address) -> None:
    """Days 3 to 10 of the small warehouse are 168 hours of the period, however many attempts ran in them."""
    page = open_page(address + "#from=2026-03-04&to=2026-03-11")
    unplanned = int(page.locator("[data-card=unplanned] .value").inner_text())

    assert float(page.locator("[data-card=mtti] .value").inner_text().split()[0]) == pytest.approx(
        168 / unplanned, rel=0.01
    )
    assert "hours of the period" in page.locator("[data-card=mtti] .basis").inner_text()


@pytest.mark.parametrize(
    ("fragment", "left"),
    [
        ("from=2026-03-04&cause=GPU%20HBM3%20Memory", 1),
        ("from=2026-03-04&cause=GPU%20HBM3%20Memory,Faulty%20GPU&confidence=confirmed", 3),
        ("from=2026-03-04&to=2026-03-07&cause=Faulty%20GPU,Software%20Bug&confidence=suspected", 1),
        ("from=2026-03-04&to=2026-03-07&cause=Faulty%20GPU&confidence=suspected", 0),
    ],
)
def test_filters_of_time_cause_and_confidence_are_joined(open_page, address, fragment, left) -> None:
    """A row is shown that fits them all; causes widen each other, times, causes and confidence narrow."""
    page = open_page(f"{address}#{fragment}")

    assert (shown(page), listed(page)) == (f"{left} of 11 shown", left)
    assert page.noise == []


def test_filter_that_passes_all_changes_no_share(open_page, address) -> None:
    """The page's own counting agrees with the warehouse: bucket unplanned gives the same breakdown as no filter."""
    page = open_page(address)
    table = page.locator("[data-table=root_cause_breakdown] tbody")
    before = [
        row.split("\t")[:7]
        for row in table.evaluate("body => [...body.rows].map(r => [...r.cells].map(c => c.textContent).join('\\t'))")
    ]
    page.locator("[data-value=unplanned]").click()
    after = [
        row.split("\t")[:7]
        for row in table.evaluate("body => [...body.rows].map(r => [...r.cells].map(c => c.textContent).join('\\t'))")
    ]

    assert shown(page) == "9 of 11 shown"
    assert after == before


def test_a_loss_that_one_interruption_leaves_open_stays_open(open_page, tmp_path) -> None:
    """Known 10 and at least 5 are at least 15, of the weakest grade, filtered as well as not."""
    con = small_warehouse()
    con.execute("""
        delete from interruptions where interruption_id not in ('i1', 'i2');
        update interruptions set bucket = 'unplanned', grade = 'C',
            lost_gpu_h = 10, lost_gpu_h_lo = 10, lost_gpu_h_hi = 10;
        update interruptions set lost_gpu_h = null, lost_gpu_h_lo = 5, lost_gpu_h_hi = null, grade = '-'
        where interruption_id = 'i2';
    """)
    address = written(tmp_path, con)
    for page in (open_page(address), open_page(address + "#bucket=unplanned")):
        card = page.locator("[data-card=lost]")
        assert (card.locator(".value").inner_text(), card.locator(".grade").inner_text()) == ("\u2265 15", "-")


@pytest.mark.parametrize(
    "value", [0, 0.0456, 0.9996, 1.005, 3, 9.996, 31.75, 99.97, 100.5, 1203.6, 999_999.6, 1_316_000]
)
def test_scripts_write_the_same_figures(open_page, tmp_path, value) -> None:
    """A figure has the same three digits whether it was written by Python or, on a filtered page, by the script."""
    con = small_warehouse()
    con.execute("update interruptions set lost_gpu_h = 0, lost_gpu_h_lo = 0, lost_gpu_h_hi = 0, grade = 'A'")
    con.execute(
        "update interruptions set lost_gpu_h = $1, lost_gpu_h_lo = $1, lost_gpu_h_hi = $1 where interruption_id = 'i1'",
        [value],
    )
    page = open_page(written(tmp_path, con) + "#bucket=unplanned")

    assert page.locator("[data-card=lost] .value").inner_text() == figures.figure(value)


def test_scripts_write_the_same_cells(open_page, address) -> None:
    """Each table reads the same with and without JavaScript."""
    with_scripts, without = cells(open_page(address)), cells(open_page(address, java_script_enabled=False))

    assert with_scripts == without
    assert len(without) > 100


def test_readable_without_scripts(open_page, address) -> None:
    """Lead, key figures, tables, evidence and pictures are there, and no dead control is shown."""
    page = open_page(address, java_script_enabled=False)

    assert "interrupted 9 times" in page.locator("h1").inner_text()
    assert page.locator("[data-chart] svg").count() == 5
    assert page.locator("#interruptions .lines").first.locator("li").count() > 0
    assert page.locator("#filters").is_hidden()
    assert page.locator("button:visible").count() == 0


def test_hostile_text_is_inert(open_page, tmp_path) -> None:
    """Markup of a log becomes no element and runs nothing, in table, tooltip and picture."""
    con = small_warehouse()
    con.execute("update events set message = $1", [HOSTILE])
    con.execute("update interruptions set why = $1, node = $1, rule = $1", [HOSTILE])
    page = open_page(written(tmp_path, con))
    draw_all(page)
    page.locator("#interruptions summary").first.click()

    assert (
        r"=1+1</script><img src=x onerror=alert(1)>\x1b[31m\u202e{{ 7 * 7 }}"
        in page.locator(".message").first.inner_text()
    )
    assert page.locator("img").count() == 0
    assert page.noise == []


def test_saved_table_holds_no_formula(open_page, tmp_path) -> None:
    """CSV has the filtered rows, and a cell that a spreadsheet would compute is quoted."""
    con = small_warehouse()
    con.execute("update interruptions set node = $1", [HOSTILE])
    page = open_page(written(tmp_path, con) + "#bucket=planned")
    with page.expect_download() as download:
        page.locator("#interruptions [data-export=csv]").first.click()
    lines = Path(download.value.path()).read_text(encoding="utf-8").splitlines()

    assert len(lines) == 2
    assert ",'=1+1</script>" in lines[1]


def test_table_sorts_by_keyboard(open_page, address) -> None:
    """A heading is a button that sorts and says so."""
    page = open_page(address)
    head = page.locator("#nodes th").filter(has_text="Node")
    head.locator("button").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    names = page.locator("#nodes tbody tr td:first-child").all_inner_texts()

    assert head.get_attribute("aria-sort") == "descending"
    assert names == sorted(names, reverse=True)


def test_search_finds_evidence(open_page, address) -> None:
    """The text filter of the interruptions also reads their lines of evidence."""
    page = open_page(address)
    page.locator("#interruptions .find").first.fill("messages-gpu-a01")

    assert 0 < listed(page) < 11


@pytest.mark.parametrize(
    ("scheme", "choice", "is_dark"), [("dark", "auto", True), ("light", "auto", False), ("light", "dark", True)]
)
def test_theme_follows_system_or_choice(open_page, address, scheme, choice, is_dark) -> None:
    """Dark by the system or by choice: paper and picture change together."""
    page = open_page(address, color_scheme=scheme)
    page.select_option("#theme", choice)
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    bar = page.evaluate("getComputedStyle(document.querySelector('[data-chart=root_cause_breakdown] text')).fill")

    assert (brightness(paper) < 60) == is_dark
    assert abs(brightness(paper) - brightness(bar)) > 100


def brightness(color: str) -> float:
    """Mean of the three channels of `rgb(…)`."""
    return sum(float(part) for part in color[color.index("(") + 1 : -1].split(",")[:3]) / 3


def test_narrow_page_does_not_scroll_sideways(open_page, address) -> None:
    """At 320 pixels the page reflows; only tables scroll, inside their own frame."""
    page = open_page(address, width=320)
    draw_all(page)

    assert page.evaluate("document.documentElement.scrollWidth") == 320


@pytest.mark.parametrize("width", [390, 1280])
def test_opening_a_row_moves_no_column(open_page, address, width) -> None:
    """The evidence of an interruption takes the width of the page, and names of hosts stay in one line."""
    page = open_page(address, width=width)
    table = page.locator("[data-table=interruption_timeline]")
    widths = "box => [...box.querySelectorAll('th')].map(head => head.getBoundingClientRect().width)"
    before = table.evaluate(widths)
    table.locator("summary").first.click()

    table.locator(".lines").first.wait_for(state="visible")
    assert table.evaluate(widths) == before
    assert table.locator("details[open]").bounding_box()["width"] <= width


def test_long_label_takes_two_lines_on_a_phone(open_page, address) -> None:
    """No word of a cause is cut where the page is narrow."""
    page = open_page(address, width=390)
    draw_all(page)
    labels = page.locator("[data-chart] .role-axis-label text").all_text_contents()

    assert [label for label in labels if "\u2026" in label] == []


def test_print_shows_all_without_controls(open_page, address) -> None:
    """Printed: light paper, no controls, closed numbers opened."""
    page = open_page(address, color_scheme="dark")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")

    assert brightness(page.evaluate("getComputedStyle(document.body).backgroundColor")) == 255
    assert page.locator("#filters, #print, .find, .more-rows").locator("visible=true").count() == 0
    assert page.locator("[data-table=weekly]").is_visible()


def test_skip_link_comes_first(open_page, address) -> None:
    """The first tab stop leads past the head of the page."""
    page = open_page(address)
    page.keyboard.press("Tab")

    assert page.evaluate("document.activeElement.getAttribute('href')") == "#content"
