"""Registries: texts at names, pinned in an operator's document or held in memory (dm3 §2.1)."""

import json
import logging
from collections.abc import Callable

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from postroom.core.errors import NotNowError, SettingsError, TheirError
from postroom.core.reason import Reason
from postroom.core.reasons import STORE_UNAVAILABLE
from postroom.names.registry import (
    MAX_DOCUMENT_BYTES,
    PROFILE_KEY,
    SERVICE_KEY,
    MemoryRegistry,
    PinnedRegistry,
    parse_registry,
)
from postroom.protocols.dm3.reasons import NAME_INVALID, PROFILE_LOOKUP_FAILED

ALICE = 'data:application/json,{"publicSigningKey":"…"}'
TEXTS = {"alice.eth": {PROFILE_KEY: ALICE}, "ds.eth": {PROFILE_KEY: "ipfs://a", SERVICE_KEY: "https://b"}}

AS_YAML = """
# who we are
alice.eth:
  network.dm3.profile: 'data:application/json,{"publicSigningKey":"…"}'
ds.eth: {network.dm3.profile: ipfs://a, network.dm3.deliveryService: https://b}
""".encode()


# --- the document ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "document",
    [AS_YAML, json.dumps(TEXTS).encode(), json.dumps(TEXTS, indent=2).encode(), yaml.safe_dump(TEXTS).encode()],
    ids=["YAML", "JSON", "indented JSON", "YAML by a program"],
)
def test_a_document_is_yaml_or_json(document: bytes) -> None:
    assert parse_registry(document) == TEXTS


def test_names_are_normalized() -> None:
    assert parse_registry("ALICE.eth: {network.dm3.profile: 'a'}\nÄ.ETH: {network.dm3.profile: b}".encode()) == {
        "alice.eth": {PROFILE_KEY: "a"},
        "ä.eth": {PROFILE_KEY: "b"},
    }


def test_json_escapes_may_form_characters_beyond_the_basic_plane() -> None:
    assert list(parse_registry(b'{"\\ud83e\\udd8a.eth": {"network.dm3.profile": "a"}}')) == ["\U0001f98a.eth"]


def test_yaml_numbers_and_dates_are_read_as_text() -> None:
    document = b"123: {network.dm3.profile: 2026-01-01}\nno: {network.dm3.profile: yes}"
    assert parse_registry(document) == {"123": {PROFILE_KEY: "2026-01-01"}, "no": {PROFILE_KEY: "yes"}}


def test_a_group_may_be_empty_but_not_its_document() -> None:
    assert parse_registry(b"{}") == {}
    with pytest.raises(SettingsError, match="not a mapping of names"):
        parse_registry(b"")


ENTRY = b"{network.dm3.profile: secret}"


@pytest.mark.parametrize(
    ("document", "why"),
    [
        (b"secret", "is not a mapping of names"),
        (b"[secret.eth]", "is not a mapping of names"),
        (b"a.eth: %b\nsec..ret: %b" % (ENTRY, ENTRY), "entry 2: ENSIP-15"),
        (b"a.eth: %b\n'': %b" % (ENTRY, ENTRY), "entry 2: a name is empty"),
        (b"a.eth: %b\nA.eth: %b" % (ENTRY, ENTRY), "entry 2 before, too"),
        (b"a.eth: %b\na.eth: %b" % (ENTRY, ENTRY), "line 2, column 1"),
        (b"a.eth:\n  network.dm3.profile: secret\n  network.dm3.profile: secret", "line 3, column 3"),
        (b'{"secret":{},"secret":{}}', "JSON with a fault: a member name occurs twice"),
        (b'{"secret.eth":{"network.dm3.profile":"\\ud800"}}', "JSON with a fault: an escape"),
        (b"a.eth: &secret %b\nb.eth: *secret" % ENTRY, "line 2, column 8"),
        (b"a.eth: {secret", "line 1, column 15"),
        (b"a.eth:\n\t- secret", "line 2, column 1"),
        (b"a.eth: secret", "entry 1"),
        (b"a.eth: [secret]", "entry 1"),
        (b"a.eth:", "entry 1"),
        (b"a.eth: {}", "entry 1"),
        (b"a.eth: %b\nb.eth: {network.dm3.secret: secret}" % ENTRY, "another member than .* at entry 2"),
        (b"a.eth: {network.dm3.profile: [secret]}", "no text as network.dm3.profile at entry 1"),
        (b"a.eth: {network.dm3.deliveryService: ''}", "no text as network.dm3.deliveryService at entry 1"),
        (b'{"a.eth":{"network.dm3.profile":null}}', "no text as network.dm3.profile at entry 1"),
        (b'"\\U00110000": %b' % ENTRY, "not plain YAML"),
        (b"secret \xff", "YAML"),
        (b"? [secret]\n: %b" % ENTRY, "line 1, column 3"),
        (b"[" * 5000, "nested deeper"),
        (b"a.eth: " + b"[" * 5000, "at most 16 levels deep.*column 24"),
        (b"#" * (MAX_DOCUMENT_BYTES + 1), "at most 1048576"),
    ],
)  # fmt: skip
def test_an_error_has_its_position_and_does_not_quote_the_document(document: bytes, why: str) -> None:
    with pytest.raises(SettingsError, match=why) as caught:
        parse_registry(document)
    assert "secret" not in str(caught.value)


def test_yaml_tags_create_no_objects() -> None:
    document = b"a.eth: {network.dm3.profile: !!python/object/apply:os.getcwd []}"
    with pytest.raises(SettingsError, match="no text"):
        parse_registry(document)


@given(
    st.binary(max_size=60)
    | st.text(alphabet="a.eth: {}[]-?&*!|>'\"%@\n\t#network.dm3.profile", max_size=80).map(str.encode)
)
def test_any_document_is_read_or_refused(document: bytes) -> None:
    try:
        texts = parse_registry(document)
    except SettingsError:
        return
    for entry in texts.values():
        assert set(entry) <= {PROFILE_KEY, SERVICE_KEY}
        assert all(entry.values())


# --- the pinned registry -----------------------------------------------------------------------------------------


class FakeDocument:
    """Where the document lies, and the time."""

    def __init__(self, document: bytes | Exception) -> None:
        self.document, self.now, self.loads = document, 1_000_000.0, 0

    def load(self) -> bytes:
        self.loads += 1
        if isinstance(self.document, Exception):
            raise self.document
        return self.document

    def clock(self) -> float:
        return self.now


def pinned(source: FakeDocument) -> PinnedRegistry:
    return PinnedRegistry(source.load, source.clock, keep_seconds=30)


def test_a_text_is_found_by_name_and_key() -> None:
    registry = pinned(FakeDocument(AS_YAML))
    assert registry.text("alice.eth", PROFILE_KEY).value == ALICE
    assert registry.text("ds.eth", SERVICE_KEY).value == "https://b"


def test_a_name_without_that_text_is_told_from_a_name_that_is_not_there() -> None:
    registry = pinned(FakeDocument(AS_YAML))
    assert registry.text("alice.eth", SERVICE_KEY).value == ""
    assert registry.text("bob.eth", PROFILE_KEY).value is None


@pytest.mark.parametrize("name", ["alice.eth", "bob.eth"])
def test_a_text_may_be_kept_until_the_document_is_read_again(name: str) -> None:
    text = pinned(FakeDocument(AS_YAML)).text(name, PROFILE_KEY)
    assert (text.seconds, text.evidence) == (30, {"registry": "pinned"})


def test_a_new_document_is_read_after_the_cache_lifetime() -> None:
    source = FakeDocument(AS_YAML)
    registry = pinned(source)
    registry.text("alice.eth", PROFILE_KEY)
    source.document = b"alice.eth: {network.dm3.profile: new}"
    source.now += 29.9
    assert registry.text("alice.eth", PROFILE_KEY).value == ALICE
    assert source.loads == 1
    source.now += 0.1
    assert registry.text("alice.eth", PROFILE_KEY).value == "new"
    assert registry.text("ds.eth", PROFILE_KEY).value is None


def test_an_oversized_document_does_not_replace_the_old_one(caplog: pytest.LogCaptureFixture) -> None:
    source = FakeDocument(AS_YAML.replace(b"ipfs://a", b"ipfs://b"))
    registry = pinned(source)
    registry.text("ds.eth", PROFILE_KEY)
    source.document = AS_YAML.ljust(MAX_DOCUMENT_BYTES, b"\n")
    source.now += 30
    assert registry.text("ds.eth", PROFILE_KEY).value == "ipfs://a"
    source.document = AS_YAML.replace(b"ipfs://a", b"ipfs://c").ljust(MAX_DOCUMENT_BYTES + 1, b"\n")
    source.now += 30
    assert registry.text("ds.eth", PROFILE_KEY).value == "ipfs://a"
    (record,) = caplog.records
    assert f"has {MAX_DOCUMENT_BYTES + 1} bytes; at most {MAX_DOCUMENT_BYTES} are read" in record.getMessage()


UNAVAILABLE = NotNowError(STORE_UNAVAILABLE, "the bucket does not answer")
NO_FILE = FileNotFoundError(2, "No such file or directory", "/secret/names.yaml")


@pytest.mark.parametrize(
    "fault", [b"alice.eth: secret", UNAVAILABLE, NO_FILE], ids=["broken", "unavailable", "no file"]
)
def test_an_unreadable_new_document_is_logged_and_does_not_replace_the_old_one(
    fault: bytes | Exception, caplog: pytest.LogCaptureFixture
) -> None:
    source = FakeDocument(AS_YAML)
    registry = pinned(source)
    registry.text("alice.eth", PROFILE_KEY)
    source.document = fault
    source.now += 30
    for _ in range(3):
        assert registry.text("alice.eth", PROFILE_KEY).value == ALICE
    assert source.loads == 2
    (record,) = caplog.records
    assert record.levelno == logging.ERROR
    assert "the old one stays" in record.getMessage()
    assert "secret" not in record.getMessage()
    source.document = b"alice.eth: {network.dm3.profile: repaired}"
    source.now += 30
    assert registry.text("alice.eth", PROFILE_KEY).value == "repaired"


@pytest.mark.parametrize(
    ("fault", "reason", "why"),
    [
        (b"alice.eth: secret", PROFILE_LOOKUP_FAILED, "the registry document .* at entry 1"),
        (UNAVAILABLE, STORE_UNAVAILABLE, "the bucket does not answer"),
        (NotNowError(STORE_UNAVAILABLE), STORE_UNAVAILABLE, "The store could not be used"),
        (NO_FILE, PROFILE_LOOKUP_FAILED, "cannot be read: No such file or directory"),
        (OSError(), PROFILE_LOOKUP_FAILED, "cannot be read: no reason was given"),
    ],
)
def test_an_unreadable_first_document_is_an_error_and_is_read_again_later(
    fault: bytes | Exception, reason: Reason, why: str
) -> None:
    source = FakeDocument(fault)
    registry = pinned(source)
    for _ in range(3):
        with pytest.raises(NotNowError, match=why) as caught:
            registry.text("alice.eth", PROFILE_KEY)
        assert caught.value.reason is reason
        assert "secret" not in str(caught.value)
    assert source.loads == 1
    source.document = AS_YAML
    source.now += 30
    assert registry.text("alice.eth", PROFILE_KEY).value == ALICE


def test_an_unchanged_document_is_not_parsed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    source = FakeDocument(AS_YAML)
    registry = pinned(source)
    registry.text("alice.eth", PROFILE_KEY)
    monkeypatch.setattr("postroom.names.registry.parse_registry", forbidden)
    source.now += 30
    assert registry.text("alice.eth", PROFILE_KEY).value == ALICE
    assert source.loads == 2


def forbidden(_: bytes) -> dict[str, dict[str, str]]:
    raise AssertionError("the document was read once more")


# --- in memory ---------------------------------------------------------------------------------------------------


def test_the_memory_registry_finds_the_same_texts() -> None:
    registry = MemoryRegistry({"Alice.eth": {PROFILE_KEY: ALICE}})
    assert registry.text("alice.eth", PROFILE_KEY).value == ALICE
    assert registry.text("alice.eth", SERVICE_KEY).value == ""
    assert registry.text("bob.eth", PROFILE_KEY).value is None
    registry.put("BOB.eth", PROFILE_KEY, "b")
    registry.put("alice.eth", SERVICE_KEY, "s")
    assert [registry.text(*at).value for at in (("bob.eth", PROFILE_KEY), ("alice.eth", SERVICE_KEY))] == ["b", "s"]
    assert registry.text("alice.eth", PROFILE_KEY).value == ALICE


@pytest.mark.parametrize(
    "write", [lambda: MemoryRegistry({"a b": {}}), lambda: MemoryRegistry().put("a b", PROFILE_KEY, "x")]
)
def test_the_memory_registry_checks_names(write: Callable[[], object]) -> None:
    with pytest.raises(TheirError) as caught:
        write()
    assert caught.value.reason is NAME_INVALID


def test_a_fresh_text_is_at_most_two_seconds_old() -> None:
    source = FakeDocument(AS_YAML)
    registry = pinned(source)
    registry.text("alice.eth", PROFILE_KEY)
    source.document = b"alice.eth: {network.dm3.profile: new}"
    source.now += 1.9
    assert registry.text("alice.eth", PROFILE_KEY, fresh=True).value == ALICE
    source.now += 0.1
    assert registry.text("alice.eth", PROFILE_KEY).value == ALICE
    assert registry.text("alice.eth", PROFILE_KEY, fresh=True).value == "new"
