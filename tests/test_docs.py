"""The pages of the documentation: their links, what they open with, the contents of long ones, and where they are."""

import re
from collections.abc import Iterator
from itertools import chain
from os.path import normpath
from pathlib import Path

import pytest
from tests.contents import anchors, with_contents

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = ["README.md", *sorted(str(path.relative_to(ROOT)) for path in DOCS.rglob("*.md"))]
FOLDERS = ["start", "send", "receive", "operate", "reference", "design", "evidence"]
FORGE_PAGES = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"]
SOURCES = ["Makefile", "pyproject.toml", "template.yaml", "functions", "glue_jobs", "layers", "benchmarks", "tests"]
TEXT = {"", ".py", ".js", ".json", ".toml", ".yaml"}


def read(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def links(page: str) -> Iterator[tuple[str, str]]:
    """Each link of a page to the repository: a path from its root, and an anchor."""
    for target in re.findall(r"(?<!`)\]\((?!https?:)([^)\s]+)\)", read(page)):
        path, _, anchor = target.partition("#")
        yield (normpath(Path(page).parent / path) if path else page), anchor


@pytest.mark.parametrize("page", PAGES)
def test_every_link_of_a_page_leads_to_a_file_and_every_anchor_to_a_heading(page: str) -> None:
    broken = [
        (path, anchor)
        for path, anchor in links(page)
        if not (ROOT / path).exists() or (anchor and anchor not in anchors(read(path)))
    ]
    assert broken == []


@pytest.mark.parametrize("page", PAGES)
def test_a_page_opens_with_a_title_and_a_paragraph_on_what_it_is_for(page: str) -> None:
    title, blank, opening, *_ = read(page).splitlines()
    assert (title[:2], blank) == ("# ", "")
    assert re.match(r"[A-Z*`\[]", opening)


@pytest.mark.parametrize("page", PAGES)
def test_a_long_page_has_a_list_of_its_sections(page: str) -> None:
    text = read(page)
    assert with_contents(text) == text, "`python -m tests.contents` writes it"


def test_the_contents_name_every_section_and_are_written_once() -> None:
    sections = "".join(f"\n## Part `{number}`: more\n{'text' + chr(10)}" for number in (1, 2, 2))
    long = f"# Page\n\nOpening.\n{sections}" + "end\n" * 120
    written = with_contents(long)
    assert written.startswith(
        "# Page\n\nOpening.\n\nContents:\n\n- [Part `1`: more](#part-1-more)\n"
        "- [Part `2`: more](#part-2-more)\n- [Part `2`: more](#part-2-more-1)\n\n## Part `1`: more\n"
    )
    assert with_contents(written) == written
    assert with_contents("\n".join(written.splitlines()[:60]) + "\n").splitlines()[4] == "## Part `1`: more"


def test_every_page_is_in_one_of_the_folders_or_is_one_that_forges_look_for() -> None:
    assert {path.parent.name for path in DOCS.glob("*/*.md")} == set(FOLDERS)
    assert {path.name for path in DOCS.glob("*.md")} <= set(FORGE_PAGES)


def test_the_table_of_contents_lists_every_page_once() -> None:
    listed = re.findall(r"^\| \[[^]]+\]\(([^)]+)\) \| \S", read("docs/README.md"), re.MULTILINE)
    assert sorted(f"docs/{page}" for page in listed) == [page for page in PAGES if not page.endswith("README.md")]


def test_every_page_that_code_names_is_there() -> None:
    files = chain.from_iterable([ROOT / name, *(ROOT / name).rglob("*")] for name in SOURCES)
    named = {
        (str(path.relative_to(ROOT)), page)
        for path in files
        if path.is_file() and path.suffix in TEXT and not {"node_modules", "__pycache__"} & set(path.parts)
        for page in re.findall(r"\bdocs/[\w/-]+\.md\b", path.read_text(encoding="utf-8", errors="replace"))
    }
    assert len(named) > 50
    assert sorted((path, page) for path, page in named if page not in PAGES) == []
