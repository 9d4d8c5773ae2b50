"""docs/reference/dcp.md: its examples run as printed, and its table names what there is."""

import pkgutil
import re
from pathlib import Path

import pytest
from tests.client.dcp.ends import PostedBank

from postroom.client.dcp import blocking, connection
from postroom.client.dcp.identities import IdentityMemory

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "reference" / "dcp.md").read_text()
BOTH_ENDS, WITHOUT_ASYNCIO = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
ROWS = [line.strip("| ").split(" | ") for line in PAGE.splitlines() if line.startswith("| ") and "`" in line]


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


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_each_row_of_the_table_names_what_there_is(row: list[str]) -> None:
    for name in re.findall(r"`(postroom\.[\w.]+)`", row[1]):
        pkgutil.resolve_name(name)
    for path in re.findall(r"`(tests/[\w/.]+)`", " ".join(row[2:])):
        assert (ROOT / path).exists()
