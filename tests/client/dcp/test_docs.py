"""docs/reference/dcp.md: its examples run as printed; its table has each section of the text, each with a test."""

import pkgutil
import re
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
import trustme
from tests.client.dcp.ends import PostedBank, run
from tests.client.dcp.sockets import serving

from postroom.client.dcp import WebSocketTransport, blocking, connection
from postroom.client.dcp.identities import IdentityMemory

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "reference" / "dcp.md").read_text()
BOTH_ENDS, WITHOUT_ASYNCIO, OVER_SOCKETS = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
TABLE = PAGE[PAGE.index("## The text, section by section") :]
ROWS = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in TABLE.splitlines()[4:]]
HEADINGS = (ROOT / "tests" / "vectors" / "dcp-headings.txt").read_text().splitlines()
"""Of the text, in its order."""


def test_the_examples_run_as_printed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, object] = {}
    exec(BOTH_ENDS, names)
    assert capsys.readouterr().out == "{'paid': 7}\nNotAuthorized: this account did not authorize it\n"
    bank = PostedBank()
    monkeypatch.setattr(connection, "HttpsTransport", lambda url, **_: bank.transport(url))
    monkeypatch.setattr(connection, "IdentityFile", IdentityMemory)
    exec(WITHOUT_ASYNCIO, names)
    assert [data for _, data in bank.bank.done] == [{"amount": 7}]
    assert blocking.Connection is names["Connection"]


def test_the_example_of_websockets_runs_as_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    names: dict[str, Any] = {}
    exec(BOTH_ENDS, names)
    exec(OVER_SOCKETS, names)
    capsys.readouterr()

    async def scenario() -> None:
        async with serving(authority, names["serve_socket"]) as at:
            opened = partial(WebSocketTransport, ca_file=tmp_path / "ca.pem", connect=at)
            monkeypatch.setattr(connection, "WebSocketTransport", lambda url, **_: opened(url))
            await names["pay_over_socket"]()

    run(scenario())
    assert capsys.readouterr().out == "{'paid': 7}\n"


def section(heading: str) -> str:
    """A heading without what follows its name."""
    return heading.removeprefix("async ").partition(" (")[0].partition("(")[0].strip()


def test_each_section_of_the_text_has_its_row_in_order() -> None:
    named = [name for row in ROWS for name in row[0].partition(" – ")[0].split("; ")]
    assert [name for name, _ in groupby(map(section, named))] == [name for name, _ in groupby(map(section, HEADINGS))]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_each_row_of_the_table_names_what_there_is(row: list[str]) -> None:
    for name in re.findall(r"`(postroom\.[\w.]+)`", row[1]):
        pkgutil.resolve_name(name)
    for path, test in re.findall(r"`(tests/[\w/.]+?)(?:::(\w+))?`", row[2]):
        assert not test or f"def {test}(" in (ROOT / path).read_text()
        assert (ROOT / path).exists()


def test_each_row_but_the_first_has_a_test() -> None:
    """The first one says nothing of its own."""
    assert [row[0] for row in ROWS if "`tests/" not in row[2]] == [ROWS[0][0]]
