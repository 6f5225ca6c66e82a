"""Pages in a real browser: widths, dark, print, keyboard, axe-core, and what leaves the page.

Needs Chromium of the system and the extra ``browser``; Playwright's own browsers are not used.
"""

from __future__ import annotations

import io
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fsframe.chains.chain import Chain
from fsframe.table.dataset import Dataset
from tests.evaluation.tables import separated

pytestmark = pytest.mark.slow
playwright = pytest.importorskip(
    "playwright.sync_api", reason="pages are opened with Playwright (the extra browser)"
)
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
if CHROMIUM is None:
    pytest.skip("chromium is not installed", allow_module_level=True)

WIDTHS = (360, 768, 1400)
PAGES = ("chain", "evaluation", "stability", "study")
LONG = "a name of a feature that is far longer than any column of a telephone " * 2


def table(seed: int) -> Dataset:
    names = [LONG, "<b>bold</b>", *(f"gene {k}" for k in range(28))]
    return separated(60, 30, seed, signal=[2.0] * 3, feature_names=names, name=f"table {seed}")


def written(name: str) -> str:
    from fsframe.evaluation.comparison import study_of_runs
    from fsframe.show.page import report_page, report_page_of_study

    if name == "study":
        chains = ("mim:top=2 knn", "anova-f:top=3 knn", "anova-f:top=2 margin")
        protocol = "cross-validation:base=({}),folds=3,repeats=1"
        return report_page_of_study(
            study_of_runs(
                [
                    Chain.parse(protocol.format(chain)).run(table(seed))
                    for seed in (0, 1)
                    for chain in chains
                ]
            )
        )
    text = {
        "chain": "immigrate:max_iter=5,top=3 npfs:n=20,null=published",
        "evaluation": "cross-validation:base=(anova-f:top=3 knn),folds=3,repeats=2,curve=auto",
        "stability": "stability-study:base=anova-f:top=3,n=10",
    }[name]
    return report_page(Chain.parse(text).run(table(0), seed=1), data=table(0))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    result = tmp_path_factory.mktemp("pages")
    for name in PAGES:
        (result / f"{name}.html").write_text(written(name), encoding="utf-8")
    return result


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


def opened(browser: Any, path: Path, said: list[str], asked: list[str], **context: Any) -> Any:
    page = browser.new_context(**context).new_page()
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(path.as_uri())
    return page


def axe() -> str:
    """The text of axe-core: a file that AXE_CORE names, or that of axe-core-python."""
    if "AXE_CORE" in os.environ:
        return Path(os.environ["AXE_CORE"]).read_text(encoding="utf-8")
    package = pytest.importorskip("axe_core_python", reason="axe-core is of the extra browser")
    return next(Path(package.__path__[0]).rglob("axe.min.js")).read_text(encoding="utf-8")


def serious(page: Any) -> list[str]:
    page.evaluate(axe())
    evaluation = page.evaluate("axe.run()")
    assert evaluation["passes"]
    return [
        f"{each['id']}: {each['nodes'][0]['html'][:200]}"
        for each in evaluation["violations"]
        if each["impact"] in ("serious", "critical")
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", PAGES)
def test_a_page_fits_its_window_says_nothing_and_asks_for_nothing(
    browser: Any, folder: Path, name: str, width: int, scheme: str
) -> None:
    said: list[str] = []
    asked: list[str] = []
    size = {"width": width, "height": 900}
    path = folder / f"{name}.html"
    page = opened(browser, path, said, asked, viewport=size, color_scheme=scheme)
    root = "document.documentElement"
    assert page.evaluate(f"{root}.scrollWidth - {root}.clientWidth") == 0
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, background[4:-1].split(","))) < 384) == (scheme == "dark")
    assert said == [] and asked == [path.as_uri()]
    page.context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_nothing_serious(browser: Any, folder: Path, name: str, scheme: str) -> None:
    # The page's policy lets no other script in.
    own = {"viewport": {"width": 360, "height": 900}, "color_scheme": scheme, "bypass_csp": True}
    page = opened(browser, folder / f"{name}.html", [], [], **own)
    assert serious(page) == []
    # What it is there to find.
    page.evaluate("document.querySelector('svg[role=img]').removeAttribute('aria-label')")
    page.evaluate("document.querySelector('p').style.color = 'rgba(128, 128, 128, 0.5)'")
    assert {each.partition(":")[0] for each in serious(page)} >= {"color-contrast", "svg-img-alt"}
    page.context.close()


def test_tables_sort_filter_and_scroll_by_keyboard_alone(browser: Any, folder: Path) -> None:
    size = {"width": 360, "height": 900}
    page = opened(browser, folder / "chain.html", [], [], viewport=size)
    features = "table[data-name=features]"

    def cells() -> list[str]:
        return page.locator(f"{features} tbody tr:visible td:nth-child(2)").all_inner_texts()

    def reached(selector: str) -> None:
        for _ in range(200):
            page.keyboard.press("Tab")
            if page.evaluate(f"document.activeElement.matches({selector!r})"):
                outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
                assert outline != "none", f"the focus on {selector} is not seen"
                return
        raise AssertionError(f"{selector} cannot be reached by the keyboard")

    before = cells()
    assert len(before) == 30
    reached("label.filter input")
    page.keyboard.type("gene 2")
    assert cells() == [name for name in before if "gene 2" in name]
    for _ in range(6):
        page.keyboard.press("Backspace")
    reached(".scroll:has(table[data-name=features])")
    page.keyboard.press("ArrowRight")
    for _ in range(100):
        if page.evaluate("document.activeElement.scrollLeft") > 0:
            break
        page.wait_for_timeout(50)
    else:
        raise AssertionError("the arrow keys do not scroll the table")
    reached("table[data-name=features] th:nth-child(2) button")
    page.keyboard.press("Enter")
    assert page.locator(f"{features} th:nth-child(2)").get_attribute("aria-sort") == "ascending"
    assert sorted(before) != before and sorted(cells()) == sorted(before) and cells() != before
    page.keyboard.press("Space")
    assert page.locator(f"{features} th:nth-child(2)").get_attribute("aria-sort") == "descending"
    page.context.close()


def test_a_printed_table_repeats_its_head_and_shows_every_row(browser: Any, folder: Path) -> None:
    pypdf = pytest.importorskip("pypdf", reason="printed pages are read with pypdf")
    page = opened(browser, folder / "chain.html", [], [], color_scheme="dark")
    rows = page.locator("table[data-name=pairs] tbody tr").count()
    read = pypdf.PdfReader(io.BytesIO(page.pdf(format="A4")))
    texts = [sheet.extract_text() for sheet in read.pages]
    assert rows > 200
    # The head of the pairs on each of the sheets that they take, and no row lost.
    sheets = [text for text in texts if "weight" in text and "feature" in text]
    assert len(sheets) > 3 and sum(text.count("gene") for text in sheets) > rows
    assert all("Rows with" not in text for text in texts)
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    page.context.close()


def test_a_page_is_whole_without_scripts(browser: Any, folder: Path) -> None:
    page = opened(browser, folder / "chain.html", [], [], java_script_enabled=False)
    assert page.locator("table[data-name=features] tbody tr").count() == 30
    assert page.locator("button, input").count() == 0
    page.context.close()
