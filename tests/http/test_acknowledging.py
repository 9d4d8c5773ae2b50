"""What is safe at home is gone here, and never comes again."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from tests.http.api_stack import BOB, BOB_KEY, NOW, RETAIN, ApiStack, Owner, reason, said

from postroom.core.errors import NotNowError
from postroom.core.reasons import STORE_UNAVAILABLE
from postroom.http.mail_handlers import FETCH_SECONDS
from postroom.http.response import HttpResponse
from postroom.protocols.dm3.envelope import message_hash, read_envelope
from postroom.storage.aws.object_store import Place
from postroom.storage.mail.ids import row_of
from postroom.storage.mail.reader import Found, PassedOver, Reader
from postroom.storage.mail.register import Row

TEXT = '{"Header":{}}'


def test_an_acknowledged_message_is_not_listed_again(api: ApiStack, owner: Owner) -> None:
    one, two, three = api.file(TEXT, TEXT, TEXT)
    assert owner.acknowledge(one, three) == {"acknowledged": [one, three], "unknown": [], "again": []}
    assert [each["id"] for each in owner.page()["messages"]] == [two]


def test_a_repeated_acknowledgement_gets_the_same_answer(api: ApiStack, owner: Owner) -> None:
    [one] = api.file(TEXT)
    assert owner.acknowledge(one, one) == owner.acknowledge(one) == {"acknowledged": [one], "unknown": [], "again": []}


def test_two_devices_see_the_same_acknowledgements(api: ApiStack, owner: Owner) -> None:
    other = Owner(api)
    [one] = api.file(TEXT)
    assert other.page()["messages"] == owner.page()["messages"] != []
    owner.acknowledge(one)
    assert other.page()["messages"] == []
    assert other.acknowledge(one)["acknowledged"] == [one]


def test_an_acknowledgement_is_remembered_as_long_as_a_copy_may_arrive(api: ApiStack, owner: Owner) -> None:
    [one] = api.file(TEXT)
    api.clock.now += 1000
    owner.acknowledge(one)
    [row] = api.deployed.rows("PostTable")
    assert (row["st"]["S"], int(row["ttl"]["N"])) == ("G", api.clock.now + RETAIN)


def test_ids_of_other_messages_are_unknown_and_the_rest_is_acknowledged(api: ApiStack, owner: Owner) -> None:
    [mine], [his] = api.file(TEXT), api.file(TEXT, mailbox=BOB)
    wrong = [his, "x", "🤝", "", mine[:-1] + "1", f"{mine}#", "../" + mine]
    assert owner.acknowledge(*wrong, mine) == {"acknowledged": [mine], "unknown": wrong, "again": []}
    assert len(Owner(api, BOB, BOB_KEY).page()["messages"]) == 1
    assert len(api.deployed.rows("PostTable")) == 2, "nothing is made for an unknown id"


def test_failed_acknowledgements_are_to_be_repeated_and_the_rest_succeeds(
    api: ApiStack, owner: Owner, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = api.file(TEXT, TEXT)
    acknowledge = api.register.acknowledge

    def throttled(key: object, forget_at: int) -> bool:
        if f"-{key.claim_id}-" in one:  # type: ignore[attr-defined]
            raise NotNowError(STORE_UNAVAILABLE)
        return acknowledge(key, forget_at)  # type: ignore[arg-type]

    monkeypatch.setattr(api.register, "acknowledge", throttled)
    assert owner.acknowledge(one, two) == {"acknowledged": [two], "unknown": [], "again": [one]}


@pytest.mark.parametrize(
    "body", [None, [], {}, {"ids": "x"}, {"ids": [1]}, {"ids": ["x"] * 1001}, {"ids": ["x" * 101]}]
)
def test_an_invalid_acknowledgement_is_refused(owner: Owner, body: object) -> None:
    assert reason(owner.ask("POST", "/acknowledgements", body=body)) == "NotARequest"


def test_an_acknowledgement_of_another_media_type_is_refused(owner: Owner) -> None:
    reply = owner.ask("POST", "/acknowledgements", body={"ids": []}, headers={"content-type": "text/plain"})
    assert (reply.status, reason(reply)) == (415, "WrongContentType")


def test_a_compressed_acknowledgement_is_refused(owner: Owner) -> None:
    reply = owner.ask("POST", "/acknowledgements", body={"ids": []}, headers={"content-encoding": "gzip"})
    assert (reply.status, reason(reply)) == (415, "WrongContentEncoding")
    assert reply.headers["Accept-Encoding"] == "identity"


# --- as dm3's reference does -----------------------------------------------------------------------------------------


def envelope(number: int, **metadata: str) -> str:
    """A dm3 message as it is filed; what the metadata say of its hash is the reference's own."""
    said_of_it = {"version": "v1", "deliveryInformation": "sealed", "signature": "AA==", **metadata}
    return json.dumps({"message": f"sealed {number}", "metadata": said_of_it, "postmark": "sealed"})


def hash_of(text: str) -> str:
    return message_hash(read_envelope(json.loads(text)))


@pytest.fixture
def bob(api: ApiStack) -> Owner:
    return Owner(api, BOB, BOB_KEY)


def incoming(bob: Owner) -> list[dict[str, str]]:
    found: list[dict[str, str]] = said(bob.api.ask("GET", f"/delivery/messages/incoming/{BOB}/", token=bob.token))
    return found


def test_the_reference_client_gets_envelopes_as_they_were_received(api: ApiStack, bob: Owner) -> None:
    texts = [envelope(number) for number in range(3)]
    for at, text in enumerate(texts):
        api.file(text, mailbox=BOB, at=at)
    assert incoming(bob) == [json.loads(text) for text in texts]


def test_the_reference_client_acknowledges_by_the_hash_in_the_metadata_or_by_ours(api: ApiStack, bob: Owner) -> None:
    own, ours, other = envelope(1, messageHash="0xAB"), envelope(2), envelope(3)
    for text, partner in ((own, "alice.eth"), (ours, "alice.eth"), (other, "eve.eth")):
        api.file(text, mailbox=BOB, conversation=partner)
    wanted = [
        {"contactAddress": "ALICE.eth", "messageHash": "0xab"},
        {"contactAddress": "alice.eth", "messageHash": hash_of(ours)},
        {"contactAddress": "alice.eth", "messageHash": hash_of(other)},
        {"contactAddress": "a..b", "messageHash": hash_of(other)},
    ]
    path = f"/delivery/messages/{BOB}/syncAcknowledgements/"
    assert said(api.ask("POST", path, token=bob.token, body={"acknowledgements": wanted})) is None
    assert incoming(bob) == [json.loads(other)]


def test_a_hash_acknowledges_a_message_with_the_named_partner_only(api: ApiStack, bob: Owner) -> None:
    read, unread = envelope(1), envelope(2)
    for text, partner in ((read, "alice.eth"), (unread, "alice.eth"), (unread, "eve.eth")):
        api.file(text, mailbox=BOB, conversation=partner)
    wanted = [
        {"contactAddress": "alice.eth", "messageHash": hash_of(read)},
        {"contactAddress": "eve.eth", "messageHash": hash_of(unread)},
    ]
    path = f"/delivery/messages/{BOB}/syncAcknowledgements"
    assert said(api.ask("POST", path, token=bob.token, body={"acknowledgements": wanted})) is None
    assert incoming(bob) == [json.loads(unread)], "what alice.eth wrote besides is still there"


def test_an_acknowledgement_by_hash_that_failed_is_reported(
    api: ApiStack, bob: Owner, monkeypatch: pytest.MonkeyPatch
) -> None:
    def throttled(*_: object) -> bool:
        raise NotNowError(STORE_UNAVAILABLE)

    text = envelope(1)
    api.file(text, mailbox=BOB, conversation="alice.eth")
    monkeypatch.setattr(api.register, "acknowledge", throttled)
    wanted = [{"contactAddress": "alice.eth", "messageHash": hash_of(text)}]
    path = f"/delivery/messages/{BOB}/syncAcknowledgements"
    assert reason(api.ask("POST", path, token=bob.token, body={"acknowledgements": wanted})) == "StoreUnavailable"


def test_the_reference_paths_require_a_token_of_that_mailbox(api: ApiStack, owner: Owner) -> None:
    for method, path in (("GET", f"incoming/{BOB}"), ("POST", f"{BOB}/syncAcknowledgements")):
        assert reason(api.ask(method, f"/delivery/messages/{path}", token=owner.token)) == "AnothersMailbox"


def test_waiting_messages_are_fetched_for_the_reference_client_in_small_batches(
    api: ApiStack, bob: Owner, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [envelope(number) for number in range(7)]
    for at, text in enumerate(texts):
        api.file(text, mailbox=BOB, at=at)
    fetched = []
    fetching = api.mail.listing.fetching
    fetch = fetching.fetch

    def counted(rows: Sequence[Row], until: float) -> Sequence[Found]:
        fetched.append(len(rows))
        return fetch(rows, until)

    monkeypatch.setattr(fetching, "fetch", counted)
    line = max(map(len, api.deployed.objects().values())) - len("\n")
    for name, most in (("AT_ONCE", 3), ("READ_BYTES", 2 * line)):
        with monkeypatch.context() as patch:
            patch.setattr(f"postroom.http.message_listing.{name}", most)
            assert incoming(bob) == [json.loads(text) for text in texts]
    assert fetched == [3, 3, 1, *[2] * 3, 1]


def test_what_the_reference_client_gets_does_not_depend_on_the_time_that_what_follows_takes(
    api: ApiStack, bob: Owner, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, last, walk = envelope(1), envelope(2), Reader.walk

    def walk_slowly(self: Reader, *which: Any, **how: Any) -> Iterator[Row | PassedOver]:
        for each in walk(self, *which, **how):
            yield each
            if isinstance(each, PassedOver):
                api.clock.now += 0.6 * FETCH_SECONDS

    api.file(first, mailbox=BOB, at=-900)
    for one in api.file(*[envelope(number) for number in range(3, 43)], mailbox=BOB, at=-800):
        row = row_of(one, BOB)
        assert row
        api.register.acknowledge(row, int(NOW) + 10**6)
    api.file(last, mailbox=BOB, at=-700)
    assert incoming(bob) == [json.loads(first), json.loads(last)]
    monkeypatch.setattr(Reader, "walk", walk_slowly)
    monkeypatch.setattr("postroom.http.message_listing.AT_ONCE", 1)
    assert incoming(bob) == [json.loads(first)]


def test_the_list_for_the_reference_client_ends_at_the_largest_response(
    api: ApiStack, bob: Owner, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [envelope(number) for number in range(3)]
    for at, text in enumerate(texts):
        api.file(text, mailbox=BOB, at=at)
    two, three = (len(f"[{','.join(texts[:number])}]") for number in (2, 3))
    three_without_what_joins_them = len("".join(texts))
    for most, number in ((two - 1, 1), (two, 2), (three_without_what_joins_them, 2), (three, 3)):
        monkeypatch.setattr("postroom.http.mail_handlers.MAX_MESSAGE_BYTES", most)
        assert len(incoming(bob)) == number
    one = len(f"[{texts[0]}]")
    for most, number in ((one - 1, 0), (one, 1)):
        monkeypatch.setattr("postroom.http.mail_handlers.MAX_MESSAGE_BYTES", most)
        assert len(incoming(bob)) == number


def test_a_message_too_large_for_a_response_does_not_hide_later_ones(
    api: ApiStack, bob: Owner, monkeypatch: pytest.MonkeyPatch
) -> None:
    large, small = envelope(1, more="x" * 500), envelope(2)
    for at, text in enumerate((large, small)):
        api.file(text, mailbox=BOB, at=at)
    monkeypatch.setattr("postroom.http.mail_handlers.MAX_MESSAGE_BYTES", 400)
    assert incoming(bob) == [json.loads(small)]


def slowly(api: ApiStack, monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Each read of S3 takes so long."""
    get_range = api.objects.get_range

    def slow(place: Place) -> bytes:
        api.clock.now += seconds
        return get_range(place)

    monkeypatch.setattr(api.objects, "get_range", slow)


def test_the_reference_client_gets_the_messages_that_can_be_read_in_time(
    api: ApiStack, bob: Owner, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [envelope(number) for number in range(5)]
    for at, text in enumerate(texts):
        api.file(text, mailbox=BOB, at=at)
    slowly(api, monkeypatch, 4)
    assert incoming(bob) == [json.loads(text) for text in texts[:3]]


def acknowledge_all(bob: Owner, *texts: str, partner: str = "alice.eth") -> HttpResponse:
    wanted = [{"contactAddress": partner, "messageHash": hash_of(text)} for text in texts]
    path = f"/delivery/messages/{BOB}/syncAcknowledgements/"
    return bob.api.ask("POST", path, token=bob.token, body={"acknowledgements": wanted})


def test_messages_found_in_time_are_acknowledged_and_the_rest_is_to_be_repeated(
    api: ApiStack, bob: Owner, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [envelope(number) for number in range(5)]
    for at, text in enumerate(texts):
        api.file(text, mailbox=BOB, conversation="alice.eth", at=at)
    slowly(api, monkeypatch, 4)
    assert said(acknowledge_all(bob, texts[0])) is None, "what lies behind it need not be read"
    assert reason(acknowledge_all(bob, *texts)) == "StoreUnavailable"
    assert len(bob.all_pages()) == 1
    assert said(acknowledge_all(bob, *texts)) is None
    assert bob.all_pages() == []


def test_messages_of_many_partners_are_acknowledged_in_one_pass(api: ApiStack, bob: Owner) -> None:
    partners, asked = [f"user{number}.eth" for number in range(6)], []
    text = envelope(1)
    for partner in partners:
        api.file(text, mailbox=BOB, conversation=partner)
    [others] = api.file(envelope(2), mailbox=BOB, conversation="another.eth")
    api.deployed.clients.dynamodb.meta.events.register(
        "before-call.dynamodb.Query", lambda params, **_: asked.append(json.loads(params["body"])["TableName"])
    )
    wanted = [{"contactAddress": partner, "messageHash": hash_of(text)} for partner in partners]
    path = f"/delivery/messages/{BOB}/syncAcknowledgements/"
    assert said(api.ask("POST", path, token=bob.token, body={"acknowledgements": wanted})) is None
    assert asked.count(api.deployed.tables["PostTable"]) == 1
    assert [each["id"] for each in bob.all_pages()] == [others]
