"""What an owner sees: pages that show each message once, single messages, conversations, how much waits."""

import json

import pytest
from tests.counter.compaction import compact
from tests.counter.counter import BOB, BOB_KEY, NOW, SHOP, Counter, Owner, reason, said

from postroom.counter import shelves
from postroom.counter.cursors import write_cursor
from postroom.errors import NotNowError
from postroom.reasons import Reason
from postroom.store.ids import row_of

TEXT = '{"Header":{"From":"b.com"},"🤝":"nlweb.org/MSG:1.0"}'


def ids(messages: list[dict[str, str]]) -> list[str]:
    return [each["id"] for each in messages]


# --- pages -----------------------------------------------------------------------------------------------------------


def test_a_message_is_shown_as_it_was_received_with_its_receipt(counter: Counter, owner: Owner) -> None:
    [one] = counter.file(TEXT, at=-3)
    assert owner.page()["messages"] == [
        {
            "id": one,
            "received_at": "2026-11-21T09:29:57.000Z",
            "conversation": "b.com",
            "receipt": {"protocol": "nlweb"},
            "envelope": TEXT,
        }
    ]


def test_pages_show_all_oldest_first_across_segments_and_shards(counter: Counter, owner: Owner) -> None:
    counter.mailboxes.raise_shards(SHOP, 4)
    counter.clock.now += 30
    filed = [one for at in range(9) for one in counter.file(TEXT, TEXT, at=at, shards=4)]
    assert sorted(ids(owner.all_pages(limit=4)), key=lambda it: it[:13]) == ids(owner.all_pages(limit=4))
    assert sorted(ids(owner.all_pages(limit=4))) == sorted(filed)
    assert ids(owner.all_pages(limit=1000)) == ids(owner.all_pages(limit=1))


def test_a_page_has_at_most_so_many_messages_and_says_whether_there_are_more(counter: Counter, owner: Owner) -> None:
    filed = counter.file(*[TEXT] * 5)
    first = owner.page(limit=3)
    assert (len(first["messages"]), first["more"]) == (3, True)
    second = owner.page(limit=3, after=first["cursor"])
    assert (len(second["messages"]), second["more"]) == (2, False)
    assert sorted(ids(first["messages"] + second["messages"])) == sorted(filed)
    assert "status" not in second


def test_a_page_has_at_most_so_many_bytes_unless_one_message_has_more(counter: Counter, owner: Owner) -> None:
    small, large = '{"a":"' + "x" * 1000 + '"}', '{"a":"' + "x" * 9000 + '"}'
    for number in range(4):
        counter.file(small, at=number)
    counter.file(large, at=4)
    assert len(owner.page(bytes=2500)["messages"]) == 2
    assert len(owner.page(bytes=1)["messages"]) == 1
    assert [len(each["envelope"]) for each in owner.all_pages(bytes=2500)] == [len(small)] * 4 + [len(large)]


def test_what_takes_more_bytes_in_json_than_in_the_segment_is_counted_as_it_is_sent(
    counter: Counter, owner: Owner
) -> None:
    for number in range(6):
        counter.file(json.dumps(['"' * 500] * 4), at=number)
    page = owner.page(bytes=20_000)
    assert len(json.dumps(page)) < 22_000
    assert len(owner.all_pages(bytes=20_000)) == 6


def test_an_empty_page_says_how_much_waits(counter: Counter, owner: Owner) -> None:
    assert owner.page() == {
        "messages": [], "cursor": "", "more": False,
        "status": {"waiting": 0, "bytes": 0, "more": False, "oldest": None, "age_seconds": 0},
    }  # fmt: skip
    counter.file(TEXT, TEXT, at=-10)
    after = owner.page()["cursor"]
    page = owner.page(after=after)
    assert (page["messages"], page["cursor"], page["status"]["waiting"]) == ([], after, 2)


def test_a_cursor_holds_under_arrival_acknowledgement_and_compaction(counter: Counter, owner: Owner) -> None:
    filed = [counter.file(TEXT, at=at)[0] for at in range(6)]
    first = owner.page(limit=2)
    owner.acknowledge(filed[1], filed[2])
    [late], [newest] = counter.file(TEXT, at=0.5), counter.file(TEXT, at=9)
    compact(counter, filed[3:5])
    assert ids(owner.all_pages(after=first["cursor"], limit=2)) == [*filed[3:6], newest]
    # Filed behind the cursor: the next pass shows it.
    assert ids(owner.all_pages()) == [filed[0], late, *filed[3:6], newest]


def test_what_is_swung_between_listing_and_fetching_is_shown_from_where_it_lies_now(
    counter: Counter, owner: Owner, monkeypatch: pytest.MonkeyPatch
) -> None:
    filed = [counter.file(TEXT, at=at)[0] for at in range(3)]
    get_range = counter.objects.get_range

    def first_swing(place: object) -> bytes:
        monkeypatch.setattr(counter.objects, "get_range", get_range)
        compact(counter, filed, delete=True)
        return get_range(place)  # type: ignore[arg-type]

    monkeypatch.setattr(counter.objects, "get_range", first_swing)
    assert ids(owner.page()["messages"]) == filed


def test_what_is_acknowledged_between_listing_and_fetching_is_passed_over(
    counter: Counter, owner: Owner, monkeypatch: pytest.MonkeyPatch
) -> None:
    filed = [counter.file(TEXT, at=at)[0] for at in range(3)]
    get_range, other = counter.objects.get_range, Owner(counter)

    def acknowledged(place: object) -> bytes:
        monkeypatch.setattr(counter.objects, "get_range", get_range)
        other.acknowledge(*filed[:2])
        for name in list(counter.deployed.objects())[:2]:
            counter.deployed.clients.s3.delete_object(Bucket=counter.deployed.bucket, Key=name)
        return get_range(place)  # type: ignore[arg-type]

    monkeypatch.setattr(counter.objects, "get_range", acknowledged)
    page = owner.page(limit=2)
    assert (page["messages"], page["more"]) == ([], True)
    assert ids(owner.page(after=page["cursor"])["messages"]) == filed[2:]


def test_a_conversation_is_a_filter(counter: Counter, owner: Owner) -> None:
    for at, partner in enumerate(["b.com", "c.com", "b.com", "c.com"]):
        counter.file(TEXT, conversation=partner, at=at)
    assert [each["conversation"] for each in owner.all_pages(conversation="c.com", limit=1)] == ["c.com"] * 2


def test_what_is_over_is_not_shown_though_it_was_not_swept(counter: Counter, owner: Owner) -> None:
    [one], [two] = counter.file(TEXT), counter.file(TEXT, at=1)
    key = row_of(one, SHOP)
    assert key is not None
    counter.expire(key, NOW + 100)
    assert ids(owner.page()["messages"]) == [one, two]
    counter.clock.now = NOW + 101
    assert ids(owner.page()["messages"]) == [two]
    assert reason(owner.ask("GET", f"/messages/{one}")) == "MessageUnknown"
    assert said(owner.ask("GET", "/status"))["waiting"] == 1


@pytest.mark.parametrize(
    "cursor", ["x", "🤝", "AAAA", "AAAAAAAA", "A" * 200, "=", "AAAAAAAAb#cd=", write_cursor(SHOP, "m#~~")]
)
def test_a_cursor_that_was_made_up_is_refused(owner: Owner, cursor: str) -> None:
    assert reason(owner.ask("GET", "/messages", query={"after": cursor})) == "CursorInvalid"


def test_a_cursor_of_another_mailbox_is_refused(counter: Counter, owner: Owner) -> None:
    counter.file(TEXT, mailbox=BOB)
    cursor = Owner(counter, BOB, BOB_KEY).page()["cursor"]
    assert reason(owner.ask("GET", "/messages", query={"after": cursor})) == "CursorInvalid"


@pytest.mark.parametrize(
    "query",
    [
        {"limit": "0"}, {"limit": "1001"}, {"limit": "x"}, {"limit": "1.5"}, {"limit": "1,2"}, {"limit": ""},
        {"bytes": "0"}, {"bytes": "4000001"}, {"wait": "-1"}, {"wait": "21"}, {"wait": "nan"}, {"wait": "x"},
        {"after": "A" * 201}, {"conversation": "c" * 301},
    ],
    ids=str,
)  # fmt: skip
def test_a_query_that_is_none_is_refused(owner: Owner, query: dict[str, str]) -> None:
    assert reason(owner.ask("GET", "/messages", query=query)) == "NotARequest"


# --- waiting ---------------------------------------------------------------------------------------------------------


def test_who_waits_is_answered_as_soon_as_something_is_there(counter: Counter, owner: Owner) -> None:
    def arrives(seconds: float) -> None:
        counter.slept.append(seconds)
        counter.clock.now += seconds
        if len(counter.slept) == 3:
            counter.file(TEXT)

    counter.desk._sleep = arrives
    assert len(owner.page(wait=20)["messages"]) == 1
    assert counter.slept == [1.0, 1.0, 1.0]


def test_who_waits_in_vain_is_answered_when_the_time_is_over(counter: Counter, owner: Owner) -> None:
    assert owner.page(wait=2.5)["messages"] == []
    assert counter.slept == [1.0, 1.0, 0.5]


def test_nobody_waits_where_something_is_there(counter: Counter, owner: Owner) -> None:
    counter.file(TEXT)
    assert owner.page(wait=20)["messages"]
    assert counter.slept == []


# --- single messages -------------------------------------------------------------------------------------------------


def test_a_message_is_found_by_its_id_and_kept_by_its_etag(counter: Counter, owner: Owner) -> None:
    [one] = counter.file(TEXT)
    reply = owner.ask("GET", f"/messages/{one}")
    assert said(reply) == owner.page()["messages"][0]
    assert owner.ask("GET", f"/messages/{one}", headers={"if-none-match": reply.headers["ETag"]}).status == 304


@pytest.mark.parametrize(
    "wrong", ["x", "1795253400000-abc", "1795253400000-abc-0", "1795253400000-abc-99999", "🤝", "a" * 10**6]
)
def test_an_id_of_no_message_is_unknown(counter: Counter, owner: Owner, wrong: str) -> None:
    counter.file(TEXT)
    for path in (f"/messages/{wrong}", f"/messages/{wrong}/envelope"):
        assert reason(owner.ask("GET", path)) == "MessageUnknown"


def test_an_id_of_another_mailbox_is_unknown(counter: Counter, owner: Owner) -> None:
    [his] = counter.file(TEXT, mailbox=BOB)
    assert reason(owner.ask("GET", f"/messages/{his}")) == "MessageUnknown"


def test_an_acknowledged_message_is_unknown(counter: Counter, owner: Owner) -> None:
    [one] = counter.file(TEXT)
    owner.acknowledge(one)
    assert reason(owner.ask("GET", f"/messages/{one}")) == "MessageUnknown"


def test_an_envelope_is_had_bit_for_bit(counter: Counter, owner: Owner) -> None:
    [one] = counter.file(TEXT)
    reply = owner.ask("GET", f"/messages/{one}/envelope")
    assert (reply.status, reply.body.decode(), reply.headers["Accept-Ranges"]) == (200, TEXT, "bytes")


def test_an_envelope_that_is_too_large_for_an_answer_comes_in_parts(
    counter: Counter, owner: Owner, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("shelves", "desk"):
        monkeypatch.setattr(f"postroom.counter.{module}.MAX_MESSAGE_BYTES", 1000)
    text = json.dumps({"n": list(range(700))})
    [one], [small] = counter.file(text), counter.file("{}", at=1)
    shown = owner.page()["messages"]
    assert ("envelope" in shown[0], shown[0]["receipt"], shown[1]["envelope"]) == (False, {"protocol": "nlweb"}, "{}")
    path = f"/messages/{one}/envelope"
    assert reason(owner.ask("GET", path)) == "RangeUnsatisfiable"
    data = b""
    while len(data) < len(text):
        part = owner.ask("GET", path, headers={"range": f"bytes={len(data)}-"})
        assert part.status == 206
        assert part.headers["Content-Range"] == f"bytes {len(data)}-{len(data) + len(part.body) - 1}/{len(text)}"
        assert len(part.body) <= 1000
        data += part.body
    assert data.decode() == text
    assert owner.ask("GET", path, headers={"range": "bytes=5-9"}).body.decode() == text[5:10]
    assert small in ids(shown)


@pytest.mark.parametrize("wanted", ["bytes=1000-", "bytes=5-4", "bytes=-5", "bytes=0-1,3-4", "lines=1-2", "x"])
def test_a_range_that_is_none_is_refused(counter: Counter, owner: Owner, wanted: str) -> None:
    [one] = counter.file(TEXT)
    reply = owner.ask("GET", f"/messages/{one}/envelope", headers={"range": wanted})
    assert (reply.status, reason(reply)) == (416, "RangeUnsatisfiable")


# --- how much there is -----------------------------------------------------------------------------------------------


def test_conversations_are_told_with_how_much_waits_in_each(counter: Counter, owner: Owner) -> None:
    for at, partner in enumerate(["b.com", "c.com", "b.com"]):
        counter.file(TEXT, conversation=partner, at=at)
    assert said(owner.ask("GET", "/conversations")) == {
        "conversations": [
            {
                "partner": "b.com",
                "waiting": 2,
                "oldest": "2026-11-21T09:30:00.000Z",
                "newest": "2026-11-21T09:30:02.000Z",
            },
            {
                "partner": "c.com",
                "waiting": 1,
                "oldest": "2026-11-21T09:30:01.000Z",
                "newest": "2026-11-21T09:30:01.000Z",
            },
        ],
        "more": False,
    }


def test_the_status_is_how_many_how_large_and_how_old(counter: Counter, owner: Owner) -> None:
    counter.file(TEXT, TEXT, at=-100)
    counter.file(TEXT)
    size = sum(map(len, counter.deployed.objects().values())) - 3  # the line feeds
    assert said(owner.ask("GET", "/status")) == {
        "waiting": 3, "bytes": size, "more": False, "oldest": "2026-11-21T09:28:20.000Z", "age_seconds": 100,
    }  # fmt: skip


def test_so_many_are_counted_and_no_more(counter: Counter, owner: Owner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shelves, "MOST_COUNTED", 3)
    counter.file(*[TEXT] * 3)
    for path in ("/status", "/conversations"):
        assert said(owner.ask("GET", path))["more"] is False
    counter.file(TEXT, at=1, conversation="d.com")
    assert said(owner.ask("GET", "/status"))["waiting"] == 3
    for path in ("/status", "/conversations"):
        assert said(owner.ask("GET", path))["more"] is True


# --- what goes wrong -------------------------------------------------------------------------------------------------


def test_a_store_that_is_away_is_asked_again_and_shows_nothing(
    counter: Counter, owner: Owner, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: object) -> None:
        raise NotNowError(Reason.STORE_UNAVAILABLE)

    counter.file(TEXT)
    monkeypatch.setattr(counter.objects, "get_range", away)
    reply = owner.ask("GET", "/messages")
    assert (reply.status, reason(reply), reply.headers["Retry-After"]) == (503, "StoreUnavailable", "5")


def test_an_error_of_ours_is_a_503_without_a_stack(
    counter: Counter, owner: Owner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counter.objects, "get_range", lambda _: b"no line")
    counter.file(TEXT)
    reply = owner.ask("GET", "/messages")
    assert reason(reply) == "CounterClosed"
    assert b"Traceback" not in reply.body


def test_a_mailbox_that_is_asked_too_often_is_told_to_come_again(counter: Counter, owner: Owner) -> None:
    answers = [owner.ask("GET", "/status").status for _ in range(101)]
    assert answers == [200] * 100 + [429]
    bob = Owner(counter, BOB, BOB_KEY)
    assert said(bob.ask("GET", "/status"))
    counter.clock.now += 1
    assert [owner.ask("GET", "/status").status for _ in range(21)] == [200] * 20 + [429]


@pytest.mark.parametrize(
    ("method", "path", "wanted"),
    [
        ("GET", "/", "NoSuchRoute"),
        ("GET", "/mailboxes", "NoSuchRoute"),
        ("GET", f"/mailboxes/{SHOP}", "NoSuchRoute"),
        ("GET", f"/mailboxes/{SHOP}/../bob.eth/messages", "NoSuchRoute"),
        ("GET", f"//mailboxes/{SHOP}/messages", "NoSuchRoute"),
        ("GET", "/mailboxes//messages", "NoMailboxName"),
        ("DELETE", f"/mailboxes/{SHOP}/messages", "MethodNotAllowed"),
        ("POST", f"/mailboxes/{SHOP}/messages", "MethodNotAllowed"),
        ("PUT", f"/auth/{SHOP}", "MethodNotAllowed"),
    ],
)
def test_another_address_is_refused(counter: Counter, owner: Owner, method: str, path: str, wanted: str) -> None:
    assert reason(counter.ask(method, path, token=owner.token)) == wanted


def test_another_method_is_told_which_there_are(counter: Counter) -> None:
    assert counter.ask("PUT", f"/auth/{SHOP}").headers["Allow"] == "GET, OPTIONS, POST"


def test_what_may_be_read_may_be_asked_for_without_its_body(owner: Owner) -> None:
    assert owner.ask("HEAD", "/status").status == 200
