"""The pages of the documentation: their links, what they open with, the contents of long ones, and where they are.

Also the code that they name, and the map of the code.
"""

import re
import tomllib
from collections.abc import Iterator
from itertools import chain
from math import ceil
from os.path import normpath
from pathlib import Path

import pytest
from tests.contents import anchors, with_contents
from tests.schedule import durations
from tests.tiers import Tier

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = ["README.md", *sorted(str(path.relative_to(ROOT)) for path in DOCS.rglob("*.md"))]
FOLDERS = ["start", "send", "receive", "operate", "reference", "design", "evidence"]
LIBRARY = ROOT / "layers" / "postroom" / "postroom"
DECISIONS = "docs/design/decisions.md"
MAP = "docs/start/how-it-works.md"
CHANGELOG = "docs/CHANGELOG.md"
"""It names what was there in earlier versions."""
CITED = re.compile(r'\b[Dd]ecisions? ("[A-Z][^",]*"(?:(?:, | and )"[A-Z][^",]*")*)')
BY_NUMBER = re.compile(r"\b(?:[Ss]ettlements?|[Dd]ecisions?) (?:NLWeb |dm3 )?\d")
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


def sources() -> Iterator[tuple[str, str]]:
    """Each file of code and tests, by its path from the root, and its text."""
    for path in chain.from_iterable([ROOT / name, *(ROOT / name).rglob("*")] for name in SOURCES):
        if path.is_file() and path.suffix in TEXT and not {"node_modules", "__pycache__"} & set(path.parts):
            yield str(path.relative_to(ROOT)), path.read_text(encoding="utf-8", errors="replace")


def cited_decisions(text: str) -> Iterator[str]:
    """The titles of decisions that a text cites, also where a line ends within a citation."""
    for titles in CITED.findall(re.sub(r"\s*\n[\s#>]*", " ", text)):
        yield from re.findall(r'"([^"]+)"', titles)


def test_every_decision_that_is_cited_is_a_heading_of_the_page_of_decisions() -> None:
    headings = {heading[4:] for heading in anchors(read(DECISIONS)).values() if heading.startswith("### ")}
    texts = [*sources(), *((page, read(page)) for page in PAGES)]
    cited = {(path, title) for path, text in texts for title in cited_decisions(text)}
    assert len(cited) > 100
    assert sorted((path, title) for path, title in cited if title not in headings) == []


def test_no_decision_is_cited_by_a_number() -> None:
    texts = [*sources(), *((page, read(page)) for page in PAGES)]
    assert sorted((path, found) for path, text in texts for found in BY_NUMBER.findall(text)) == []


@pytest.mark.parametrize(
    ("text", "titles"),
    [
        ('RFC 6376 §3.6.1; decision "Key records"', ["Key records"]),
        ('(decisions "Time window",\n# "Replay" and "Feedback").', ["Time window", "Replay", "Feedback"]),
        ('as decided: "Replay"', []),
    ],
)
def test_citations_are_found(text: str, titles: list[str]) -> None:
    assert list(cited_decisions(text)) == titles


def test_a_number_is_found_as_a_citation() -> None:
    assert [found for found in ("settlement NLWeb" + " 8", "decision" + " 8") if not BY_NUMBER.search(found)] == []


def test_every_page_that_code_names_is_there() -> None:
    named = {(path, page) for path, text in sources() for page in re.findall(r"\bdocs/[\w/-]+\.md\b", text)}
    assert len(named) > 50
    assert sorted((path, page) for path, page in named if page not in PAGES) == []


def modules_named(text: str) -> set[str]:
    """The paths of Python modules that a page has in backticks."""
    return set(re.findall(r"`([\w./-]+\.py)\b", text))


@pytest.mark.parametrize("page", [page for page in PAGES if page != CHANGELOG])
def test_every_module_that_a_page_names_is_there(page: str) -> None:
    bases = (ROOT, ROOT / "tests", LIBRARY.parent, LIBRARY)
    assert [path for path in modules_named(read(page)) if not any((base / path).is_file() for base in bases)] == []


def test_the_pages_name_many_modules_and_a_module_that_is_not_there_would_be_found() -> None:
    assert len(set().union(*(modules_named(read(page)) for page in PAGES))) > 50
    assert modules_named("`storage/gone.py`, `mail/past.py rule`") == {"storage/gone.py", "mail/past.py"}


def test_the_map_of_the_code_has_every_package_in_the_order_of_the_layers() -> None:
    table = read(MAP).partition("| package |")[2]
    mapped = [name.rstrip("/").removesuffix(".py") for name in re.findall(r"^\| `([\w/.]+)` \|", table, re.MULTILINE)]
    contracts = tomllib.loads(read("pyproject.toml"))["tool"]["importlinter"]["contracts"]
    [layers] = [contract["layers"] for contract in contracts if contract["type"] == "layers"]
    floors = {name: floor for floor, layer in enumerate(reversed(layers)) for name in re.findall(r"\w+", layer)}
    assert sorted(mapped) == sorted(floors)
    assert [floors[name] for name in mapped] == sorted(floors.values())


def test_the_folders_that_the_readme_names_are_there() -> None:
    folders = re.findall(r"`([\w/]+/)`", read("README.md").partition("## Where to read on")[2])
    assert len(folders) > 8
    assert [folder for folder in folders if not any((base / folder).is_dir() for base in (ROOT, LIBRARY))] == []


@pytest.mark.parametrize("tier", [Tier.QUICK, Tier.ALL])
def test_contributing_has_the_minutes_of_the_recorded_run(tier: Tier) -> None:
    seconds = sum(took for took, _ in durations(tier).values())
    [minutes] = re.findall(
        rf"^\| `{tier.command}` \|[^|]+\| (\d+) minutes \|", read("docs/CONTRIBUTING.md"), re.MULTILINE
    )
    assert int(minutes) == ceil(seconds / 2 / 60)
