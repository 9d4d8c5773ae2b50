"""Contents lists of long pages of docs/: `python -m tests.contents` writes them all."""

import re
from pathlib import Path
from typing import Final

DOCS: Final = Path(__file__).resolve().parents[1] / "docs"
LONG_LINES: Final = 120
MANY_SECTIONS: Final = 3
_LIST: Final = re.compile(r"^Contents:\n\n(?:- \[.*\n)+\n", re.MULTILINE)
_CODE: Final = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)


def anchors(text: str) -> dict[str, str]:
    """Anchor → heading, in order, with the anchors that GitHub, GitLab and Forgejo generate."""
    found: dict[str, str] = {}
    for level, heading in re.findall(r"^(#{1,6}) (.+)$", _CODE.sub("", text), re.MULTILINE):
        shown = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading)
        slug = unique = re.sub(r"[^\w\- ]", "", shown.lower()).replace(" ", "-")
        count = 0
        while unique in found:
            count += 1
            unique = f"{slug}-{count}"
        found[unique] = f"{level} {heading}"
    return found


def with_contents(text: str) -> str:
    """The page with a list of its sections before the first one, if it is long and has several."""
    text = _LIST.sub("", text)
    sections = [(anchor, heading[3:]) for anchor, heading in anchors(text).items() if heading.startswith("## ")]
    if len(text.splitlines()) <= LONG_LINES or len(sections) < MANY_SECTIONS:
        return text
    listed = "".join(f"- [{heading}](#{anchor})\n" for anchor, heading in sections)
    before, first, after = text.partition(f"\n## {sections[0][1]}\n")
    return f"{before}\nContents:\n\n{listed}{first}{after}"


if __name__ == "__main__":
    for page in DOCS.rglob("*.md"):
        page.write_text(with_contents(page.read_text(encoding="utf-8")), encoding="utf-8")
