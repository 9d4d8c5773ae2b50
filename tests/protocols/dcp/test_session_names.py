"""Ids of sessions that are not stored: whose they are, and when their first nonce is over."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.protocols.dcp.known import KEYS

from postroom.protocols.dcp.connect import is_session_id
from postroom.protocols.dcp.session_names import (
    CONNECT_SECONDS,
    NamesOfIdentities,
    OneSession,
    OpenedSession,
    SessionNames,
)

US, PEER = KEYS["twos"].address, KEYS["ones"].address
STRANGER = (
    KEYS["mixed"].address if "mixed" in KEYS else next(k.address for k in KEYS.values() if k.address not in (US, PEER))
)
NAMES = SessionNames(US, b"s" * 32)
NOW, RANDOM = 1_700_000_000.9, bytes(range(12))
HALF = "x" * 21
ID = NAMES.new(HALF, PEER, now=NOW, random=RANDOM)
halves = st.text("abcXYZ019._~/-", min_size=21, max_size=256)


@given(half=halves, random=st.binary(min_size=12, max_size=12))
def test_a_session_is_known_again_to_its_target_only(half: str, random: bytes) -> None:
    dcpsid = NAMES.new(half, PEER, now=NOW, random=random)
    opened = NAMES.opened(dcpsid, PEER)
    assert opened == OpenedSession(US, NAMES.first_nonce(dcpsid, PEER), 1_700_000_000 + CONNECT_SECONDS, 1_700_000_000)
    assert NAMES.opened(dcpsid, STRANGER) is None
    assert SessionNames(US, b"t" * 32).opened(dcpsid, PEER) is None


@given(half=halves)
def test_the_targets_half_is_at_least_as_long_as_the_initiators(half: str) -> None:
    dcpsid = NAMES.new(half, PEER, now=NOW, random=RANDOM)
    assert is_session_id(dcpsid, half)
    assert len(dcpsid) >= 2 * len(half) + 1


@pytest.mark.parametrize("at", range(len(ID)))
def test_no_character_can_be_changed(at: int) -> None:
    other = "A" if ID[at] != "A" else "B"
    assert NAMES.opened(ID[:at] + other + ID[at + 1 :], PEER) is None


@pytest.mark.parametrize(
    "dcpsid",
    [
        "",
        HALF,
        ID[:-1],
        ID[1:],
        ID + ".",
        ID + "A",
        ID + "\n",
        ID.replace("-", "", 1),
        ID * 40,
        "\ud800" * 80,
        "é" * 80,
    ],
)
def test_a_cut_or_padded_id_is_nobodys(dcpsid: str) -> None:
    assert NAMES.opened(dcpsid, PEER) is None


def test_a_second_spelling_of_the_same_bytes_is_nobodys() -> None:
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    spellings = [ID[:-1] + each for each in alphabet if each != ID[-1]]
    same = [
        each
        for each in spellings
        if base64.urlsafe_b64decode(each[-43:] + "=") == base64.urlsafe_b64decode(ID[-43:] + "=")
    ]
    assert len(same) == 3
    assert [NAMES.opened(each, PEER) for each in same] == [None] * 3


def test_each_session_has_its_own_first_nonce() -> None:
    other = NAMES.new(HALF, PEER, now=NOW, random=RANDOM[::-1])
    assert NAMES.first_nonce(ID, PEER) != NAMES.first_nonce(other, PEER)


def test_earlier_identities_keep_the_sessions_that_they_opened() -> None:
    earlier = SessionNames(STRANGER, b"e" * 32)
    names = NamesOfIdentities((NAMES, earlier))
    dcpsid = earlier.new(HALF, PEER, now=NOW, random=RANDOM)
    assert names.opened(dcpsid, PEER) == earlier.opened(dcpsid, PEER)
    assert names.opened(ID, PEER) == NAMES.opened(ID, PEER)
    assert names.opened(ID, STRANGER) is None


def test_a_connection_has_one_session_with_one_peer() -> None:
    session = OpenedSession(US, "n", 1.0, 0.0)
    one = OneSession(ID, PEER, session)
    assert one.opened(ID, PEER) is session
    assert one.opened(ID, STRANGER) is one.opened(ID + "A", PEER) is None


def test_no_secret_is_shown() -> None:
    assert "s" * 8 not in repr(NAMES)
    assert repr(NAMES.secret) not in repr(NAMES)
