"""When an identity is due, and to whom (6/PAYLOADS: Identity Update, One-To-One, Private Group, Public Chat)."""

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.protocols.status.senders import NOW_MS, PNG

from postroom.core.errors import TheirError
from postroom.core.reason import Reason
from postroom.protocols.status.checks import MAX_PROFILE_PICTURE_BYTES
from postroom.protocols.status.codec import read_payload, write_payload
from postroom.protocols.status.enums import ChatKind, PayloadType, ProfileImageSource, ProfileImageType
from postroom.protocols.status.identity import IDENTITY_INTERVAL_MS, identity_receivers_due, own_identity
from postroom.protocols.status.reasons import MEDIA_INVALID, MEDIA_TOO_LARGE, PAYLOAD_INVALID
from postroom.protocols.status.sent_profile import SentProfile, profile_digest

KINDS = [ChatKind.ONE_TO_ONE, ChatKind.PUBLIC_GROUP, ChatKind.PRIVATE_GROUP]
EVERY_KIND = pytest.mark.parametrize("kind", KINDS)
DIGEST = profile_digest(own_identity(1, "alice.eth", "Alice", PNG))
BEFORE = profile_digest(own_identity(1, "", "Alice", None))
BOTH = frozenset({"bob", "carol"})
YEARS_MS = 3 * 365 * 24 * 60 * 60 * 1000


def due(
    kind: ChatKind, *sent: SentProfile, has_written: bool = True, receivers: Iterable[str] = BOTH, now_ms: int = NOW_MS
) -> frozenset[str]:
    return identity_receivers_due(
        kind, frozenset(receivers), has_written=has_written, sent=sent, digest=DIGEST, now_ms=now_ms
    )


# --- when ------------------------------------------------------------------------------------------------------------


@EVERY_KIND
def test_before_the_first_message_nobody_gets_it(kind: ChatKind) -> None:
    assert due(kind, has_written=False) == frozenset()


@EVERY_KIND
def test_with_the_first_message_everybody_gets_it(kind: ChatKind) -> None:
    assert due(kind) == BOTH


@EVERY_KIND
def test_after_that_nobody_does(kind: ChatKind) -> None:
    assert due(kind, SentProfile(NOW_MS - 1, DIGEST, BOTH)) == frozenset()


@EVERY_KIND
def test_after_a_change_everybody_does(kind: ChatKind) -> None:
    assert due(kind, SentProfile(NOW_MS - 1, BEFORE, BOTH)) == BOTH


@EVERY_KIND
def test_who_joins_later_gets_it_and_nobody_else(kind: ChatKind) -> None:
    sent = SentProfile(NOW_MS - 1, DIGEST, BOTH)
    assert due(kind, sent, receivers=(*BOTH, "dave")) == {"dave"}
    assert due(kind, sent, SentProfile(NOW_MS, DIGEST, frozenset({"dave"})), receivers=(*BOTH, "dave")) == frozenset()


def test_in_a_channel_it_is_sent_again_after_24_hours() -> None:
    sent = SentProfile(NOW_MS, DIGEST, BOTH)
    assert IDENTITY_INTERVAL_MS == 86_400_000
    assert due(ChatKind.PUBLIC_GROUP, sent, now_ms=NOW_MS + 86_399_999) == frozenset()
    assert due(ChatKind.PUBLIC_GROUP, sent, now_ms=NOW_MS + 86_400_000) == BOTH


@pytest.mark.parametrize("kind", [ChatKind.ONE_TO_ONE, ChatKind.PRIVATE_GROUP])
def test_elsewhere_it_is_sent_once(kind: ChatKind) -> None:
    assert due(kind, SentProfile(NOW_MS, DIGEST, BOTH), now_ms=NOW_MS + YEARS_MS) == frozenset()


NAMES = st.frozensets(st.sampled_from(["bob", "carol", "dave"]))
SENT = st.lists(st.builds(SentProfile, st.integers(0, YEARS_MS), st.sampled_from([DIGEST, BEFORE]), NAMES), max_size=5)


@given(st.sampled_from(KINDS), NAMES, SENT, st.integers(0, YEARS_MS))
def test_it_is_never_due_before_a_message(
    kind: ChatKind, receivers: frozenset[str], sent: list[SentProfile], now_ms: int
) -> None:
    assert not due(kind, *sent, has_written=False, receivers=receivers, now_ms=now_ms)


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("wait"), st.integers(1, 2 * IDENTITY_INTERVAL_MS)),
        st.tuples(st.just("join"), st.sampled_from(["dave", "erin", "frank"])),
        st.tuples(st.just("change"), st.text(max_size=3)),
        st.tuples(st.just("write"), st.none()),
    ),
    max_size=12,
)


@given(st.sampled_from(KINDS), STEPS)
def test_a_conversation(kind: ChatKind, steps: list[tuple[str, object]]) -> None:
    """With each message, those get the identity who have none, another one, or in a channel one of 24 hours ago."""
    now_ms, name, members = NOW_MS, "", {"bob"}
    has_it: dict[str, tuple[str, int]] = {}
    sent: list[SentProfile] = []
    for step, value in steps:
        if step == "wait" and isinstance(value, int):
            now_ms += value
        elif step == "join":
            members.add(str(value))
        elif step == "change":
            name = str(value)
        else:
            now_ms += 1
            digest = profile_digest(own_identity(now_ms, "", name, None))
            needy = identity_receivers_due(kind, members, has_written=True, sent=sent, digest=digest, now_ms=now_ms)
            sent.append(SentProfile(now_ms, digest, needy))
            expected = {
                member
                for member in members
                if member not in has_it
                or has_it[member][0] != name
                or (kind is ChatKind.PUBLIC_GROUP and now_ms - has_it[member][1] >= 86_400_000)
            }
            assert needy == expected
            has_it |= dict.fromkeys(needy, (name, now_ms))
            assert not identity_receivers_due(kind, members, has_written=True, sent=sent, digest=digest, now_ms=now_ms)


# --- what ------------------------------------------------------------------------------------------------------------


def test_a_picture_goes_as_base64_and_as_nothing_else() -> None:
    identity = own_identity(7, "alice.eth", "Alice", PNG)
    assert read_payload(PayloadType.CHAT_MESSAGE_IDENTITY, write_payload(identity)) == identity
    image = identity.profile_image
    assert image is not None
    assert image.payload == "iVBORw0KGgogYW5kIHRoZSByZXN0"
    assert image.source_type == ProfileImageSource.RAW_PAYLOAD
    assert image.image_type == ProfileImageType.RASTER_IMAGE_FILE
    assert (identity.clock, identity.ens_name, identity.display_name) == (7, "alice.eth", "Alice")


def test_without_a_picture_there_is_none() -> None:
    assert own_identity(7, "", "", None).profile_image is None


@pytest.mark.parametrize(
    ("picture", "reason"),
    [
        (b"", PAYLOAD_INVALID),
        (b"https://example.com/me.png", MEDIA_INVALID),
        (b"ipfs://bafybeigdyrzt", MEDIA_INVALID),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", MEDIA_INVALID),
        (PNG + bytes(MAX_PROFILE_PICTURE_BYTES), MEDIA_TOO_LARGE),
    ],
)
def test_addresses_and_what_is_no_picture_are_refused(picture: bytes, reason: Reason) -> None:
    with pytest.raises(TheirError) as refused:
        own_identity(7, "", "", picture)
    assert refused.value.reason is reason
