"""The drawing of a `Reduction` in a real browser: on a phone and a desktop, light and dark.

Chromium is installed where that can be done. Where there is none these tests are skipped; where
`CI=true` says that they must run, they fail.
"""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from langchain_core.messages import messages_to_dict
from playwright.sync_api import Browser, Dialog, Page, sync_playwright

from langchain_mentor_reducer.__main__ import main
from tests.integration_tests.debian import install, unavailable
from tests.unit_tests.test_html import HOSTILE, PARALLEL, everywhere, step, turns

PHONE, DESKTOP = 390, 1280
# No sandbox, for a container's root has none; and nothing that calls home.
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
LONG_WORDS: list[Any] = [
    step(("a_tool_with_a_long_name" * 3, {"url": "https://example.com/" + "x" * 90}, "long")),
    *everywhere("W" * 400)[:3],
]
SAVED = [
    [*PARALLEL, *turns(20), *PARALLEL[1:]],
    [*LONG_WORDS, *turns(3)],
    [PARALLEL[1], *[message for _ in range(9) for message in PARALLEL[2:5]]],
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Start the browser that is installed."""
    if not shutil.which("chromium"):
        install("chromium")
    found = shutil.which("chromium")
    if not found:
        unavailable("Chromium", "chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def picture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Have the command draw three conversations, each cut in another way."""
    return drawn(tmp_path_factory.mktemp("picture"), SAVED)


@pytest.fixture(params=["light", "dark"])
def scheme(request: pytest.FixtureRequest) -> str:
    """What the reader's system asks for."""
    return str(request.param)


@pytest.fixture(params=[PHONE, DESKTOP])
def page(
    request: pytest.FixtureRequest, browser: Browser, picture: Path, scheme: Any
) -> Iterator[Page]:
    """Open the picture."""
    context = browser.new_context(
        viewport={"width": request.param, "height": 900}, color_scheme=scheme
    )
    page = context.new_page()
    page.goto(picture.as_uri())
    yield page
    context.close()


def drawn(folder: Path, conversations: list[list[Any]]) -> Path:
    """Draw conversations with the command."""
    saved, picture = folder / "saved.jsonl", folder / "picture.html"
    saved.write_text("\n".join(json.dumps(messages_to_dict(c)) for c in conversations) + "\n\n[]")
    assert main([str(saved), "--max-messages", "9", "--html", str(picture)]) == 0
    return picture


def unfold(page: Page) -> None:
    """Open every fold."""
    page.evaluate("document.querySelectorAll('details').forEach(fold => fold.open = true)")


def style(page: Page, selector: str, name: str) -> str:
    """Read a computed style of the first element that matches."""
    read = "(element, name) => getComputedStyle(element).getPropertyValue(name)"
    return str(page.locator(selector).first.evaluate(read, name))


def test_nothing_overflows(page: Page) -> None:
    """No one has to scroll sideways, and no cell cuts off what it holds."""
    wide = """() => [...document.querySelectorAll("html, .lmr, .lmr li, .lmr ul, .lmr span")]
        .filter(e => getComputedStyle(e).display != "inline" && e.scrollWidth > e.clientWidth + 1)
        .map(e => e.className || e.tagName)"""
    unfold(page)
    assert page.evaluate(wide) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]


def test_folds_open(page: Page) -> None:
    """What is folded is out of sight, and opens at a click and by the keyboard."""
    folds = page.locator("details")
    assert folds.count() >= 2
    for fold, press in ((folds.first, False), (folds.last, True)):
        hidden = fold.locator("li.turn, li.cell").first
        assert not hidden.is_visible()
        if press:
            fold.locator("summary").press("Enter")
        else:
            fold.locator("summary").click()
        assert hidden.is_visible()


def test_labels_can_be_read(page: Page) -> None:
    """Each row and cell shows its labels, in letters of 12 pixels or more."""
    unfold(page)
    labels = """() => [...document.querySelectorAll(
        "figcaption, .bar, .head b, .fate, .index, .role, .number, .why, summary, code")]
        .map(e => [e.innerText.trim(), e.checkVisibility({opacityProperty: true}),
                   parseFloat(getComputedStyle(e).fontSize), e.getBoundingClientRect().width])"""
    seen = page.evaluate(labels)
    assert len(seen) > 200
    for text, visible, size, width in seen:
        assert text
        assert visible, text
        assert size >= 12, text
        assert width > 4, text


def test_contrast_and_structure(page: Page) -> None:
    """An accessibility checker finds no fault, contrast among what it computes."""
    unfold(page)
    found = Axe().run(page).response
    assert {fault["id"] for fault in found["violations"]} == set()
    assert "color-contrast" in {rule["id"] for rule in found["passes"]}
    assert "color-contrast" not in {rule["id"] for rule in found["incomplete"]}


def test_fates_differ_without_color(page: Page) -> None:
    """Kept and dropped differ in their lines and their words, whatever the colors are."""
    assert style(page, "li.turn.kept", "border-left-style") == "solid"
    assert style(page, "li.turn.dropped", "border-left-style") == "dotted"
    assert style(page, "li.cell.kept", "border-top-style") == "solid"
    assert style(page, "li.cell.dropped", "border-top-style") == "dashed"
    assert style(page, "li.cell.dropped del", "text-decoration-line") == "line-through"
    fates = {e.inner_text() for e in page.locator(".fate").all() if e.is_visible()}
    assert fates == {"kept", "kept in part", "dropped"}


def brightness(page: Page, name: str) -> float:
    """Tell how bright a color of the drawing is."""
    return sum(map(float, style(page, ".lmr", name).removeprefix("rgb(")[:-1].split(",")))


def test_dark_is_dark(page: Page, scheme: str) -> None:
    """The drawing follows the system's scheme."""
    dark = brightness(page, "background-color") < brightness(page, "color")
    assert dark == (scheme == "dark")


@pytest.mark.parametrize("page", [DESKTOP], indirect=True)
@pytest.mark.parametrize(
    ("attribute", "value", "dark"),
    [
        ("data-jp-theme-light", "true", False),
        ("data-jp-theme-light", "false", True),
        ("class", "vscode-light", False),
        ("class", "vscode-dark", True),
    ],
)
def test_theme_of_the_notebook(page: Page, attribute: str, value: str, dark: bool) -> None:  # noqa: FBT001
    """In JupyterLab and VS Code the drawing follows their theme, whatever the system asks for."""
    page.evaluate("([name, value]) => document.body.setAttribute(name, value)", [attribute, value])
    assert (brightness(page, "background-color") < brightness(page, "color")) == dark


def test_nothing_runs_or_loads(browser: Browser, tmp_path: Path) -> None:
    """Markup in messages is shown as text: nothing in it runs, and nothing is fetched."""
    page = browser.new_page()
    asked: list[str] = []
    opened: list[str] = []
    page.on("request", lambda request: asked.append(request.url))

    def close(dialog: Dialog) -> None:
        opened.append(dialog.message)
        dialog.dismiss()

    page.on("dialog", close)
    picture = drawn(tmp_path, [everywhere(text) for text in HOSTILE]).as_uri()
    page.goto(picture)
    unfold(page)
    for cell in page.locator("li.cell").all():
        cell.hover()
    shown = {words.text_content() for words in page.locator(".words").all()}
    assert shown == {" ".join(text.split()) for text in HOSTILE}
    assert asked == [picture]
    assert opened == []
    page.close()
