"""The addresses of targets: in a file as the reference implementation keeps them, and in memory."""

import json
from pathlib import Path

import pytest
from tests.protocols.dcp.guarded import JACK, US, WES

from postroom.client.dcp import AsyncConnection, IdentityCache, IdentityFile, IdentityMemory
from postroom.core.errors import SettingsError
from postroom.crypto.ethereum_keys import EthereumKey

ONE, OTHER = "https://one.example/dcp", "https://other.example/dcp"


@pytest.fixture(params=["file", "memory"])
def cache(request: pytest.FixtureRequest, tmp_path: Path) -> IdentityCache:
    return IdentityFile(tmp_path / ".dcp" / "cache.json") if request.param == "file" else IdentityMemory()


def test_the_address_of_a_target_is_known_until_it_is_cleared(cache: IdentityCache) -> None:
    assert cache.address_at(ONE) is None
    cache.remember(ONE, US.address)
    cache.remember(OTHER, WES.address)
    cache.clear(US.address)
    assert (cache.address_at(ONE), cache.address_at(OTHER)) == (None, WES.address)
    cache.clear()
    assert cache.address_at(OTHER) is None
    cache.clear()


@pytest.mark.parametrize(
    "identity", [US.address, f"0x{US.address}", US.address.lower(), US], ids=["address", "0x", "lower case", "key"]
)
def test_a_connection_forgets_the_targets_of_an_identity_however_it_is_named(identity: str | EthereumKey) -> None:
    cache = IdentityMemory()
    cache.remember(ONE, US.address)
    cache.remember(OTHER, WES.address)
    connection = AsyncConnection("memory:", JACK, identities=cache)
    connection.clear_identity_cache(identity)
    assert (cache.address_at(ONE), cache.address_at(OTHER)) == (None, WES.address)
    with pytest.raises(ValueError, match="40 hex digits"):
        connection.clear_identity_cache("")
    connection.clear_identity_cache()
    assert cache.address_at(OTHER) is None


def test_a_file_outlives_the_process_and_has_addresses_as_the_reference_writes_them(tmp_path: Path) -> None:
    path = tmp_path / ".dcp" / "identity-cache.json"
    IdentityFile(path).remember(ONE, US.address)
    assert json.loads(path.read_text()) == {ONE: f"0x{US.address}"}
    assert IdentityFile(path).address_at(ONE) == US.address
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_the_file_of_the_reference_is_read(tmp_path: Path) -> None:
    path = tmp_path / "cache.json"
    path.write_text(json.dumps({ONE: f"0x{JACK.address.lower()}", OTHER: US.address}))
    assert IdentityFile(path).address_at(ONE) == JACK.address
    assert IdentityFile(path).address_at(OTHER) == US.address


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"https://one.example": 7}', '{"https://one.example": "0x12"}', "\xff"]
)
def test_a_file_of_another_form_is_told_and_not_changed(tmp_path: Path, text: str) -> None:
    path = tmp_path / "cache.json"
    path.write_bytes(text.encode("latin-1"))
    cache = IdentityFile(path)
    for use in (
        lambda: cache.address_at(ONE),
        lambda: cache.remember(ONE, US.address),
        lambda: cache.clear(US.address),
    ):
        with pytest.raises(SettingsError, match=r"cache\.json is not a file of identities"):
            use()
    assert path.read_bytes() == text.encode("latin-1")
    cache.clear()
    assert cache.address_at(ONE) is None


def test_the_file_is_in_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    IdentityFile().remember(ONE, US.address)
    assert (tmp_path / ".dcp" / "identity-cache.json").exists()
