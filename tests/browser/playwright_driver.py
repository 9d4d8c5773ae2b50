"""Playwright, as published, behind lines of JSON: `playwright_driver.py CHROMIUM`. It has packages of its own."""

import sys
from typing import Any

from playwright.sync_api import sync_playwright
from tests.peers.lines import serve


def main(program: str) -> None:
    """Answer calls with one browser."""
    with sync_playwright() as playwright, playwright.chromium.launch(executable_path=program) as browser:

        def visit(url: str, script: str, argument: Any, seconds: float) -> Any:
            """Open a page, and run a function of JavaScript in it with an argument; what its promise gives."""
            page = browser.new_page()
            page.set_default_timeout(seconds * 1000)
            page.goto(url)
            result = page.evaluate(script, argument)
            page.close()
            return result

        serve({"visit": visit})


if __name__ == "__main__":
    main(sys.argv[1])
