"""Draw the README's picture: what is kept of the conversation that comes with the package.

It needs Chromium, and the dependency groups `integration` and `notebooks`. Run as
`.venv/bin/python scripts/draw_window.py` it writes docs/window-light.png and docs/window-dark.png.
"""

import shutil
import subprocess
import sys
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image
from playwright.sync_api import sync_playwright

DOCS = Path(__file__).parents[1] / "docs"
WIDTH = 940
"""Of the picture, in CSS pixels: about as wide as a README is shown."""
COLORS = 64


def main() -> None:
    """Have the command draw the conversation, and photograph it by day and by night."""
    browser_path = shutil.which("chromium") or shutil.which("google-chrome")
    with TemporaryDirectory() as folder, sync_playwright() as playwright:
        picture = Path(folder) / "window.html"
        command = [sys.executable, "-m", "langchain_mentor_reducer", "--html", str(picture)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        browser = playwright.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        for scheme in ("light", "dark"):
            page = browser.new_page(
                viewport={"width": WIDTH, "height": 600},
                color_scheme=scheme,
                device_scale_factor=1.5,
            )
            page.goto(picture.as_uri())
            image = Image.open(BytesIO(page.locator("figure").screenshot()))
            # A drawing of few colors: this makes the file a third.
            image.quantize(COLORS).save(DOCS / f"window-{scheme}.png", optimize=True)
        browser.close()


if __name__ == "__main__":
    main()
