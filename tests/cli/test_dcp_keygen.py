"""`postroom dcp keygen`: a keystore, and the address of its key."""

import json
import stat
from base64 import b64encode
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.cli.conftest import Postroom, StorageStack
from tests.client.dcp.keystores import PASSPHRASE
from typer.testing import CliRunner

from postroom.cli import inputs
from postroom.cli.app import app
from postroom.cli.exits import Exit
from postroom.crypto.ethereum_keys import EthereumKey
from postroom.crypto.keystore import unlock


@pytest.fixture
def passphrase(postroom: Postroom, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the environment; the fixture `postroom` has emptied that before."""
    monkeypatch.setenv("POSTROOM_KEY_PASSPHRASE", PASSPHRASE)


def opened(file: Path) -> EthereumKey:
    return unlock(json.loads(file.read_bytes()), PASSPHRASE)


@pytest.mark.usefixtures("passphrase")
def test_the_keystore_is_private_and_its_address_is_printed(postroom: Postroom, tmp_path: Path) -> None:
    printed = json.loads(postroom("dcp", "keygen", "bob-key.json", "--json").stdout)
    file = tmp_path / "bob-key.json"
    key = opened(file)
    assert printed == {
        "file": "bob-key.json", "address": f"0x{key.address}", "public_key": b64encode(key.spki()).decode()
    }  # fmt: skip
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.usefixtures("passphrase")
def test_a_file_is_never_overwritten(postroom: Postroom, tmp_path: Path) -> None:
    file = tmp_path / "bob-key.json"
    shown = postroom("dcp", "keygen", "bob-key.json").stdout
    before = file.read_bytes()
    assert f"address      0x{opened(file).address}\n" in shown
    result = postroom("dcp", "keygen", "bob-key.json")
    assert (result.exit_code, result.stdout, file.read_bytes()) == (Exit.USAGE, "", before)
    assert result.stderr == "postroom: bob-key.json exists; name a file that does not exist yet\n"


@pytest.mark.parametrize(
    ("typed", "sentence"),
    [
        ([PASSPHRASE, PASSPHRASE], ""),
        ([PASSPHRASE, "Geheim"], "the second passphrase is another one"),
        ([""], "choose a passphrase that is not empty"),
        (["\udcff", "\udcff"], "the passphrase has characters that are not text in UTF-8"),
    ],
    ids=str,
)
def test_at_a_terminal_the_passphrase_is_typed_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, typed: list[str], sentence: str
) -> None:
    monkeypatch.delenv("POSTROOM_KEY_PASSPHRASE", raising=False)
    monkeypatch.setattr(inputs, "sys", SimpleNamespace(stdin=SimpleNamespace(isatty=lambda: True)))
    monkeypatch.setattr(inputs, "getpass", lambda _prompt: typed.pop(0))
    file = tmp_path / "bob-key.json"
    result = CliRunner().invoke(app, ["dcp", "keygen", str(file)])
    assert (result.exit_code, typed) == (Exit.USAGE if sentence else Exit.GOOD, [])
    assert sentence in result.stderr
    assert file.exists() == (not sentence)


def test_without_a_passphrase_and_a_terminal_nothing_is_written(postroom: Postroom, tmp_path: Path) -> None:
    result = postroom("dcp", "keygen", "bob-key.json", input="")
    assert (result.exit_code, list(tmp_path.iterdir())) == (Exit.USAGE, [])
    assert "bob-key.json is to be encrypted: set POSTROOM_KEY_PASSPHRASE, or run the command at a" in result.stderr


@pytest.mark.usefixtures("passphrase")
@pytest.mark.xdist_group("cli-storage")
def test_the_public_key_can_own_a_mailbox_which_then_shows_the_same_address(
    postroom: Postroom, storage_stack: StorageStack
) -> None:
    made = json.loads(postroom("dcp", "keygen", "bob-key.json", "--json").stdout)
    options = ("dcp.receiver.example", *storage_stack.options)
    assert postroom("mailbox", "open", "--public-key-base64", made["public_key"], *options).exit_code == Exit.GOOD
    assert made["address"] in postroom("mailbox", "show", *options).stdout
