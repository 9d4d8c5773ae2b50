"""Mail comes home: fetched, verified, opened, stored, and only then acknowledged; whatever happens in between."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import pytest
from tests.client.archive.mail import SENT_AT, SERVICE, SERVICE_NAME, STRANGER, USERS, registry, sealed
from tests.client.archive.pulling import DiedError, Owner, Points
from tests.client.mailbox_net import Host
from tests.http.api_stack import SHOP, SHOP_KEY, ApiStack
from tests.http.api_stack import Owner as Device
from tests.protocols.dm3.stored_mail import ALICE, BOB
from tests.tiers import amount

from postroom.api.schemas import MAX_PAGE_BYTES
from postroom.client.archive import Archive, MemoryHome, verify
from postroom.client.archive.moving import move
from postroom.client.archive.ownership import NotThisHomeError
from postroom.client.archive.pull import Pulled, pull
from postroom.client.archive.receiving import MailReceiver
from postroom.client.archive.verify import KnownSigningKeys
from postroom.core.errors import NotNowError, SettingsError
from postroom.core.reason import Reason
from postroom.core.reasons import NOT_JSON, STORE_UNAVAILABLE
from postroom.names.registry import PROFILE_KEY, SERVICE_KEY, MemoryRegistry, RegistryText
from postroom.protocols.dm3.containers import conversation_key
from postroom.protocols.dm3.envelope import DeliveryInformation, message_hash, read_envelope
from postroom.protocols.dm3.keys import UserKeys
from postroom.protocols.dm3.message import MessageType
from postroom.protocols.dm3.postmark import make_postmark
from postroom.protocols.dm3.profile import UserProfile, data_uri
from postroom.protocols.dm3.reasons import (
    ENVELOPE_INVALID,
    NAME_INVALID,
    POSTMARK_INVALID,
    PROFILE_LOOKUP_FAILED,
    RECEIVER_UNKNOWN,
    SEALED_VALUE_INVALID,
    SENDER_SIGNATURE_INVALID,
)
from postroom.protocols.dm3.storage_key import KEY_TEXT, StorageKey
from postroom.protocols.dm3.stored import SET_ASIDE, Received
from postroom.protocols.nlweb.reasons import HASH_MISMATCH
from postroom.protocols.nlweb.sign import Draft, sign, write


@pytest.fixture
def owner(api: ApiStack) -> Owner:
    return Owner(api)


# ---- what is kept ----------------------------------------------------------------------------------------------------
def test_dm3_messages_are_opened_stored_and_acknowledged(owner: Owner) -> None:
    for number in range(3):
        owner.file(sealed(f"message {number}", number, to=owner.name))
    owner.file(sealed("from carol", sender="carol.eth", to=owner.name))
    assert owner.pull().kept == 4
    assert owner.texts() == ["message 0", "message 1", "message 2"]
    assert owner.texts("carol.eth") == ["from carol"]
    owner.check_all_home()


def test_pulling_an_empty_mailbox_claims_the_home_for_the_owner(owner: Owner) -> None:
    assert owner.pull().kept == 0
    assert owner.archive().conversations() == ()
    assert len(owner.home.containers()) == 1


def test_pulling_again_stores_nothing_twice(owner: Owner) -> None:
    owner.file(sealed("once", to=owner.name))
    assert [owner.pull().kept for _ in range(2)] == [1, 0]
    owner.check_all_home()


def test_a_message_that_waits_twice_is_stored_once(owner: Owner) -> None:
    message = sealed("once", to=owner.name)
    for _ in range(2):
        owner.file(message)
        owner.file(message)
        assert owner.pull().kept == 2
    assert owner.texts() == ["once"]
    assert owner.left() == []


def test_a_deletion_by_the_author_takes_effect(owner: Owner) -> None:
    owner.file(message := sealed("gone", to=owner.name))
    owner.file(sealed("", 1, to=owner.name, kind=MessageType.DELETE_REQUEST, about=hash_of(message)))
    owner.pull()
    assert owner.texts() == ["† DELETE_REQUEST", ""]


# ---- what is set aside -----------------------------------------------------------------------------------------------
def taking(member: str, envelope: str, into: str) -> str:
    """What one envelope has, in the place of what another had."""
    return json.dumps({**json.loads(into), member: json.loads(envelope)[member]})


def without(member: str, envelope: str) -> str:
    return json.dumps({name: value for name, value in json.loads(envelope).items() if name != member})


def forged(to: str) -> str:
    """A message in Alice's name that she has not signed."""
    alice, USERS[ALICE] = USERS[ALICE], STRANGER
    try:
        return sealed("forged", to=to)
    finally:
        USERS[ALICE] = alice


SET_ASIDES: dict[str, tuple[Callable[[str], str], Reason]] = {
    "sealed to another": (
        lambda to: taking("message", sealed("x", to="carol.eth"), sealed("x", to=to)),
        SEALED_VALUE_INVALID,
    ),
    "not signed by its sender": (forged, SENDER_SIGNATURE_INVALID),
    "no JSON": (lambda _: "{", NOT_JSON),
    "no envelope": (lambda _: '{"message":"x"}', ENVELOPE_INVALID),
    "no postmark": (lambda to: without("postmark", sealed("x", to=to)), POSTMARK_INVALID),
    "the postmark of another": (
        lambda to: taking("postmark", sealed("y", to=to), sealed("x", to=to)),
        POSTMARK_INVALID,
    ),
    "written to somebody else": (lambda _: sealed("x", to="bob.eth"), RECEIVER_UNKNOWN),
    "a sender that no name is": (lambda to: sealed("x", sender="a..b", to=to), NAME_INVALID),
}  # fmt: skip


@pytest.mark.parametrize("kind", SET_ASIDES)
def test_invalid_messages_are_set_aside_acknowledged_and_block_nothing(owner: Owner, kind: str) -> None:
    make, reason = SET_ASIDES[kind]
    owner.file(sealed("before", 1, to=owner.name))
    bad = make(owner.name)
    id_ = owner.file(bad, kept=False, conversation="whoever.eth")
    owner.file(sealed("after", 2, to=owner.name))
    pulled = owner.pull()
    assert (pulled.kept, dict(pulled.set_aside)) == (3, {str(reason): 1})
    assert owner.texts() == ["before", "after"]
    [aside] = owner.archive().open(SET_ASIDE)
    assert isinstance(aside, Received)
    assert (aside.id, aside.envelope, aside.author) == (id_, bad, "whoever.eth")
    assert not any(b"whoever.eth" in sealed_ for sealed_ in owner.home.containers().values())
    owner.check_all_home()


def test_a_message_of_a_sender_without_a_profile_is_stored_and_marked(owner: Owner) -> None:
    owner.file(sealed("who am I", sender="nobody.eth", to=owner.name))
    owner.pull()
    assert owner.texts("nobody.eth") == ["who am I ?"]
    owner.check_all_home()


class Away:
    """A registry that cannot be asked for some names."""

    def __init__(self, owner: Owner, *names: str) -> None:
        self._registry = owner.registry
        self._names = names

    def text(self, name: str, key: str, *, fresh: bool = False) -> RegistryText:
        if name in self._names:
            raise NotNowError(PROFILE_LOOKUP_FAILED, "the registry is away")
        return self._registry.text(name, key)


def test_messages_that_cannot_be_verified_now_stay_in_the_mailbox_and_block_nothing(owner: Owner) -> None:
    late = owner.file(sealed("from carol", sender="carol.eth", to=owner.name))
    owner.file(sealed("from alice", to=owner.name))
    pulled = owner.pull(registry=Away(owner, "carol.eth"))
    assert (pulled.kept, dict(pulled.left)) == (1, {str(PROFILE_LOOKUP_FAILED): 1})
    assert owner.left() == [late]
    assert owner.pull().kept == 1
    owner.check_all_home()


@pytest.mark.parametrize("who", ["the owner", "the service"])
def test_while_the_owner_or_the_service_cannot_be_looked_up_nothing_is_acknowledged(owner: Owner, who: str) -> None:
    owner.file(sealed("hello", to=owner.name))
    away = Away(owner, owner.name if who == "the owner" else "ds.eth")
    assert owner.pull(registry=away).left == {str(PROFILE_LOOKUP_FAILED): 1}
    assert len(owner.left()) == 1
    owner.pull()
    owner.check_all_home()


# ---- keys that do not fit --------------------------------------------------------------------------------------------
def test_with_wrong_keys_or_profiles_nothing_is_set_aside(owner: Owner) -> None:
    owner.file(sealed("hello", to=owner.name))
    no_service, nobody = registry(owner.name), registry()
    no_service.put("ds.eth", SERVICE_KEY, "data:,nothing")
    wrong = UserKeys(USERS[BOB].signing, UserKeys.random().encryption)
    faults: list[tuple[dict[str, Any], str]] = [
        ({"keys": wrong}, "not those that the profile"),
        ({"keys": None}, "opened with the keys of the profile"),
        ({"registry": nobody}, "has no profile"),
        ({"registry": no_service}, "no delivery service"),
    ]
    for fault, why in faults:
        with pytest.raises(SettingsError, match=why):
            owner.pull(**fault)
        assert len(owner.left()) == 1
        assert owner.archive().conversations() == ()
    owner.pull()
    owner.check_all_home()


@dataclass
class Changed:
    """An owner who changes keys: waiting messages are sealed to `old`, and the profile has `new`."""

    owner: Owner
    old: UserKeys
    new: UserKeys

    def pull(self, *older: UserKeys) -> Pulled:
        return self.owner.pull(keys=self.new, registry=self.registry, older=[keys.encryption for keys in older])

    @property
    def registry(self) -> MemoryRegistry:
        made = registry(self.owner.name)
        profile = UserProfile(self.new.encryption.public, self.new.signing.public, (SERVICE_NAME,))
        made.put(self.owner.name, PROFILE_KEY, data_uri(profile.as_json()))
        return made

    def seal_to_new(self, text: str, at: int) -> str:
        USERS[self.owner.name] = self.new
        try:
            return sealed(text, at, to=self.owner.name)
        finally:
            del USERS[self.owner.name]


@pytest.fixture
def changed(owner: Owner) -> Changed:
    return Changed(owner, USERS[BOB], UserKeys(USERS[BOB].signing, UserKeys.random().encryption))


def test_messages_sealed_to_an_old_key_stay_in_the_mailbox_and_block_nothing(changed: Changed) -> None:
    before = changed.owner.file(sealed("before", 1, to=changed.owner.name))
    changed.owner.file(changed.seal_to_new("after", 2))
    pulled = changed.pull()
    assert (pulled.kept, pulled.unopened, dict(pulled.set_aside), dict(pulled.left)) == (1, 1, {}, {})
    assert changed.owner.left() == [before]
    assert changed.owner.texts() == ["after"]


def test_messages_sealed_to_an_old_key_are_opened_with_it(changed: Changed) -> None:
    changed.owner.file(sealed("before", 1, to=changed.owner.name))
    changed.owner.file(changed.seal_to_new("after", 2))
    assert changed.pull(UserKeys.random(), changed.old).kept == 2
    assert changed.owner.texts() == ["before", "after"]
    changed.owner.check_all_home()


def test_a_message_sealed_to_the_old_key_with_a_postmark_for_the_new_one_is_opened(changed: Changed) -> None:
    """Its sender had looked up the profile before the change, its delivery service did after it."""
    envelope = read_envelope(json.loads(sealed("between", to=changed.owner.name)))
    delivery = DeliveryInformation(changed.owner.name, ALICE)
    stamp = make_postmark(envelope.message, delivery, SENT_AT, SERVICE, changed.new.encryption.public)
    changed.owner.file(replace(envelope, postmark=stamp).encode())
    assert changed.pull(changed.old).kept == 1
    assert changed.owner.texts() == ["between"]
    changed.owner.check_all_home()


def test_a_message_that_no_old_key_opens_is_set_aside(changed: Changed) -> None:
    changed.owner.file(sealed("x", to="carol.eth"), kept=False)
    assert changed.pull().unopened == 1
    assert changed.pull(changed.old).set_aside == {str(SEALED_VALUE_INVALID): 1}
    changed.owner.check_all_home()


def test_with_the_old_key_as_the_profiles_nothing_is_pulled_and_the_error_names_the_option(
    changed: Changed,
) -> None:
    changed.owner.file(sealed("before", to=changed.owner.name))
    with pytest.raises(SettingsError, match="these as --old-key"):
        changed.owner.pull(keys=changed.old, registry=changed.registry)
    assert len(changed.owner.left()) == 1


def test_a_home_of_another_key_or_name_is_not_changed(api: ApiStack, owner: Owner) -> None:
    owner.pull()
    before = owner.home.containers()
    other = Owner(api, home=owner.home)
    other.file(sealed("hello", to=other.name))
    with pytest.raises(NotThisHomeError, match=owner.name):
        other.pull()
    mine = owner.archive()
    stranger = Archive.of(owner.home, owner.name, b"signature", StorageKey(bytes(32)))
    with pytest.raises(NotThisHomeError, match="another key"):
        pull(None, stranger, None)  # type: ignore[arg-type]
    assert len(other.left()) == 1
    assert mine.home.containers() == before  # type: ignore[attr-defined]


# ---- NLWeb -----------------------------------------------------------------------------------------------------------
def test_mail_of_a_domain_is_stored_unchanged_with_its_receipt(api: ApiStack) -> None:
    envelope = signed("hello")
    broken = envelope.replace("hello", "hullo")
    receipt = {"protocol": "nlweb", "key_fingerprint": "SHA256:x"}
    for text in (envelope, broken):
        api.file(text, mailbox=SHOP, conversation="b.com", receipt=receipt, at=0.009)
    home = MemoryHome()
    archive = Archive.of(home, SHOP, SHOP_KEY.sign(SHOP.encode()), StorageKey.from_signature(SHOP_KEY.sign(KEY_TEXT)))
    with Host(api).open() as mailbox:
        pulled = pull(mailbox, archive, MailReceiver(SHOP, None, None))
    assert (pulled.kept, dict(pulled.set_aside)) == (2, {str(HASH_MISMATCH): 1})
    [kept] = archive.open("b.com")
    assert isinstance(kept, Received)
    assert (kept.envelope, json.loads(kept.receipt), kept.timestamp_ms) == (envelope, receipt, SENT_AT + 9)
    found = verify(archive, KnownSigningKeys())
    assert (found.messages, found.unproven, found.set_aside, found.flaws) == (1, 1, 1, [])


def test_conversations_of_feedback_and_of_unicode_names_are_found(api: ApiStack) -> None:
    about = "feedback:8b51b6b2-2f5f-4a0e-9a0b-000000000000"
    for partner in (about, "xn--bcher-kva.example"):
        api.file(signed("hello"), mailbox=SHOP, conversation=partner)
    archive = Archive.of(MemoryHome(), SHOP, SHOP_KEY.sign(SHOP.encode()), StorageKey(bytes(32)))
    with Host(api).open() as mailbox:
        assert pull(mailbox, archive, MailReceiver(SHOP, None, None)).kept == 2
    assert archive.conversations() == (about, "xn--bcher-kva.example")
    assert [len(archive.open(partner)) for partner in archive.conversations()] == [1, 1]


def signed(text: str) -> str:
    draft = Draft("b.com", SHOP, "Hello@Host", "8b51b6b2-2f5f-4a0e-9a0b-3c1d5e7f9a1b", SENT_AT, {"Text": text})
    return write(sign(draft, SHOP_KEY)).decode()


# ---- whatever happens in between -------------------------------------------------------------------------------------
def hash_of(envelope: str) -> str:
    return message_hash(read_envelope(json.loads(envelope)))


def fill(owner: Owner) -> None:
    """Messages of several batches: two partners, one unknown, one that does not open."""
    owner.file(sealed("one", 1, to=owner.name))
    owner.file(sealed("two", 2, sender="carol.eth", to=owner.name))
    owner.file("{", kept=False)
    owner.file(sealed("three", 3, to=owner.name))
    owner.file(sealed("four", 4, sender="nobody.eth", to=owner.name))


@pytest.fixture
def points(pytestconfig: pytest.Config) -> Iterator[int]:
    """Every eighth point of a pull in the quick tier, every third one in `all`, by the rotation; without end."""
    every = amount(quick=8, all=3, proof=1)
    return count(pytestconfig.option.rotation % every, every)


def at_every_point(api: ApiStack, points: Iterator[int], happens: Callable[[Owner], object]) -> int:
    """Let something happen at every point of one pull, each time of another owner's; how many there are."""
    for point in points:
        owner = Owner(api)
        fill(owner)
        passing = Points(point, lambda owner=owner: happens(owner))  # type: ignore[misc]
        try:
            owner.pull(passing)
        except (DiedError, NotNowError):
            owner.pull()
        owner.check_all_home()
        if passing.passed <= point:
            return passing.passed
    raise AssertionError


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("postroom.client.archive.pull.BATCH_MESSAGES", 3)


def die(_owner: Owner) -> None:
    raise DiedError


@pytest.mark.usefixtures("small_batches")
def test_a_pull_that_crashed_at_any_point_stores_each_message_once_before_acknowledging(
    api: ApiStack, points: Iterator[int]
) -> None:
    assert at_every_point(api, points, die) > 60


def no_space(_owner: Owner) -> None:
    raise NotNowError(STORE_UNAVAILABLE, "No space left on device")


@pytest.mark.usefixtures("small_batches")
def test_two_devices_that_pull_at_once_store_each_message_once(api: ApiStack, points: Iterator[int]) -> None:
    """Wherever one is, the other pulls all there is."""
    assert at_every_point(api, points, lambda owner: owner.pull()) > 60


@pytest.mark.usefixtures("small_batches")
def test_a_full_home_leaves_unstored_messages_unacknowledged(owner: Owner) -> None:
    fill(owner)

    class Full(MemoryHome):
        room = 0

        def put(self, key: str, data: bytes, *, etag: str | None) -> str:
            if self.room == 0:
                no_space(owner)
            self.room -= 1
            return super().put(key, data, etag=etag)

    owner.home = Full()
    for room in count():
        owner.home.room = room
        try:
            owner.pull()
        except NotNowError:
            assert room < 100
            continue
        break
    owner.home.room = -1
    owner.check_all_home()


def test_a_damaged_conversation_leaves_its_messages_in_the_mailbox_and_blocks_no_other(owner: Owner) -> None:
    owner.file(sealed("before", to=owner.name))
    owner.pull()
    at = conversation_key(owner.archive().filing.root, ALICE)
    whole, owner.checks = owner.home.get(at), False
    short = owner.home.put(at, whole.data[:-5], etag=whole.etag)
    owner.file(sealed("from carol", sender="carol.eth", to=owner.name))
    late = owner.file(sealed("after", 1, to=owner.name))
    pulled = owner.pull()
    assert pulled.kept == 1
    assert at in pulled.damaged[ALICE]
    assert owner.texts("carol.eth") == ["from carol"]
    assert owner.left() == [late]
    owner.home.put(at, whole.data, etag=short)
    owner.pull()
    owner.check_all_home()


def test_messages_stored_in_a_home_during_its_move_are_not_acknowledged(api: ApiStack, points: Iterator[int]) -> None:
    outcomes = set()
    for point in points:
        owner = Owner(api)
        fill(owner)
        old, new = owner.archive(), MemoryHome()
        passing = Points(
            point,
            lambda old=old, new=new: move(old, replace(old, home=new), "elsewhere", {"elsewhere": new}.__getitem__),
        )  # type: ignore[misc]
        try:
            owner.pull(passing)
            outcomes.add("went through")
        except NotThisHomeError:
            outcomes.add("was told")
        if passing.passed <= point:
            break
        owner.home = new
        owner.pull()
        owner.check_all_home()
    assert outcomes == {"went through", "was told"}


def test_a_large_message_acknowledged_by_another_device_is_skipped(api: ApiStack) -> None:
    device = Device(api)
    [large] = api.file("x" * (MAX_PAGE_BYTES + 1), mailbox=SHOP)
    api.file(signed("hello"), mailbox=SHOP, at=1)
    host = Host(api)
    host.watch = lambda request, _: request.url.path.endswith("/messages") and device.acknowledge(large)
    archive = Archive.of(MemoryHome(), SHOP, SHOP_KEY.sign(SHOP.encode()), StorageKey(bytes(32)))
    with host.open() as mailbox:
        assert pull(mailbox, archive, MailReceiver(SHOP, None, None)).kept == 1
    assert len(archive.open("b.com")) == 1


def test_many_messages_are_pulled(owner: Owner) -> None:
    many = amount(quick=200, all=400, proof=2000)
    for start in range(0, many, 100):
        messages = [sealed(f"message {number}", number, to=owner.name) for number in range(start, start + 100)]
        owner.api.file(*messages, mailbox=owner.name, conversation=ALICE, receipt={"protocol": "dm3"}, at=start / 1000)
        owner.waiting |= {f"{start} {text}": hash_of(text) for text in messages}
    owner.checks = False
    assert owner.pull().kept == many
    assert owner.texts() == [f"message {number}" for number in range(many)]
    owner.check_all_home()
