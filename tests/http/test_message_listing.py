"""What an owner sees: pages that show each message once, single messages, conversations, how much waits."""

import json
from collections.abc import Callable

import pytest
from tests.http.api_stack import BOB, BOB_KEY, NOW, RECEIPT, SHOP, ApiStack, Owner, reason, said
from tests.http.compaction import compact

from postroom.core.errors import NotNowError
from postroom.core.reasons import STORE_UNAVAILABLE
from postroom.http import message_listing
from postroom.http.cursors import write_cursor
from postroom.storage.aws.object_store import Place
from postroom.storage.layout import row_key
from postroom.storage.mail.ids import id_of, row_of
from postroom.storage.mail.segments import Line

ASCII = '{"Header":{"From":"b.com"}}'
TEXT = '{"Header":{"From":"b.com"},"🤝":"nlweb.org/MSG:1.0"}'


def ids(messages: list[dict[str, str]]) -> list[str]:
    return [each["id"] for each in messages]


# --- pages -----------------------------------------------------------------------------------------------------------


def test_a_message_is_shown_as_it_was_received_with_its_receipt(api: ApiStack, owner: Owner) -> None:
    [one] = api.file(TEXT, at=-3)
    assert owner.page()["messages"] == [
        {
            "id": one,
            "received_at": "2026-11-21T09:29:57.000Z",
            "conversation": "b.com",
            "receipt": {"protocol": "nlweb"},
            "envelope": TEXT,
        }
    ]


def test_pages_show_all_oldest_first_across_segments_and_shards(api: ApiStack, owner: Owner) -> None:
    api.mailboxes.raise_shards(SHOP, 4)
    api.clock.now += 30
    filed = [one for at in range(9) for one in api.file(TEXT, TEXT, at=at, shards=4)]
    assert sorted(ids(owner.all_pages(limit=4)), key=lambda it: it[:13]) == ids(owner.all_pages(limit=4))
    assert sorted(ids(owner.all_pages(limit=4))) == sorted(filed)
    assert ids(owner.all_pages(limit=1000)) == ids(owner.all_pages(limit=1))


def test_a_page_has_a_limited_number_of_messages_and_says_whether_there_are_more(api: ApiStack, owner: Owner) -> None:
    filed = api.file(*[TEXT] * 5)
    first = owner.page(limit=3)
    assert (len(first["messages"]), first["more"]) == (3, True)
    second = owner.page(limit=3, after=first["cursor"])
    assert (len(second["messages"]), second["more"]) == (2, False)
    assert sorted(ids(first["messages"] + second["messages"])) == sorted(filed)
    assert "status" not in second


def test_a_page_has_limited_bytes_unless_a_single_message_is_larger(api: ApiStack, owner: Owner) -> None:
    small, large = '{"a":"' + "x" * 1000 + '"}', '{"a":"' + "x" * 9000 + '"}'
    for number in range(4):
        api.file(small, at=number)
    api.file(large, at=4)
    assert len(owner.page(bytes=2500)["messages"]) == 2
    assert len(owner.page(bytes=1)["messages"]) == 1
    assert [len(each["envelope"]) for each in owner.all_pages(bytes=2500)] == [len(small)] * 4 + [len(large)]


def test_page_bytes_are_counted_as_they_are_sent(api: ApiStack, owner: Owner) -> None:
    for number in range(6):
        api.file(json.dumps(['"' * 500] * 4), at=number)
    page = owner.page(bytes=20_000)
    assert len(json.dumps(page)) < 22_000
    assert len(owner.all_pages(bytes=20_000)) == 6


def test_a_message_that_grows_when_encoded_begins_the_next_page(api: ApiStack, owner: Owner) -> None:
    # As dm3's are filed: the line has a digest where the row has the partner's name.
    keys = [row_key(SHOP, 1, int(NOW * 1000) + number, api.new_id()) for number in range(2)]
    lines = [Line(key, "digest", TEXT, RECEIPT) for key in keys]
    api.put(api.new_segment(), lines, "a" * 200 + ".eth")
    size = sum(len(line.encode()) for line in lines)
    first = owner.page(bytes=size)
    assert (ids(first["messages"]), first["more"]) == ([id_of(keys[0])], True)
    assert ids(owner.page(bytes=size, after=first["cursor"])["messages"]) == [id_of(keys[1])]


def test_an_empty_page_has_the_number_of_waiting_messages(api: ApiStack, owner: Owner) -> None:
    assert owner.page() == {
        "messages": [], "cursor": "", "more": False,
        "status": {"waiting": 0, "bytes": 0, "more": False, "oldest": None, "age_seconds": 0},
    }  # fmt: skip
    api.file(TEXT, TEXT, at=-10)
    after = owner.page()["cursor"]
    page = owner.page(after=after)
    assert (page["messages"], page["cursor"], page["status"]["waiting"]) == ([], after, 2)


def test_a_cursor_stays_valid_under_arrival_acknowledgement_and_compaction(api: ApiStack, owner: Owner) -> None:
    filed = [api.file(TEXT, at=at)[0] for at in range(6)]
    first = owner.page(limit=2)
    owner.acknowledge(filed[1], filed[2])
    [late], [newest] = api.file(TEXT, at=0.5), api.file(TEXT, at=9)
    compact(api)
    assert ids(owner.all_pages(after=first["cursor"], limit=2)) == [*filed[3:6], newest]
    # Filed behind the cursor: the next pass shows it.
    assert ids(owner.all_pages()) == [filed[0], late, *filed[3:6], newest]


def test_a_row_repointed_between_listing_and_fetching_is_read_from_its_new_object(
    api: ApiStack, owner: Owner, monkeypatch: pytest.MonkeyPatch
) -> None:
    filed = [api.file(TEXT, at=at)[0] for at in range(3)]
    get_range = api.objects.get_range

    def compacted_before(place: object) -> bytes:
        monkeypatch.setattr(api.objects, "get_range", get_range)
        compact(api)
        return get_range(place)  # type: ignore[arg-type]

    monkeypatch.setattr(api.objects, "get_range", compacted_before)
    assert ids(owner.page()["messages"]) == filed


def test_a_message_acknowledged_between_listing_and_fetching_is_skipped(
    api: ApiStack, owner: Owner, monkeypatch: pytest.MonkeyPatch
) -> None:
    filed = [api.file(TEXT, at=at)[0] for at in range(3)]
    get_range, other = api.objects.get_range, Owner(api)

    def acknowledged(place: object) -> bytes:
        monkeypatch.setattr(api.objects, "get_range", get_range)
        other.acknowledge(*filed[:2])
        for name in list(api.deployed.objects())[:2]:
            api.deployed.clients.s3.delete_object(Bucket=api.deployed.bucket, Key=name)
        return get_range(place)  # type: ignore[arg-type]

    monkeypatch.setattr(api.objects, "get_range", acknowledged)
    page = owner.page(limit=2)
    assert (page["messages"], page["more"]) == ([], True)
    assert ids(owner.page(after=page["cursor"])["messages"]) == filed[2:]


def test_messages_can_be_filtered_by_conversation(api: ApiStack, owner: Owner) -> None:
    for at, partner in enumerate(["b.com", "c.com", "b.com", "c.com"]):
        api.file(TEXT, conversation=partner, at=at)
    assert [each["conversation"] for each in owner.all_pages(conversation="c.com", limit=1)] == ["c.com"] * 2


def test_a_page_ends_at_its_deadline_and_the_next_one_continues_there(
    api: ApiStack, owner: Owner, monkeypatch: pytest.MonkeyPatch
) -> None:
    filed = [api.file(TEXT, at=at)[0] for at in range(5)]
    get_range = api.objects.get_range

    def slow(place: Place) -> bytes:
        api.clock.now += 4
        return get_range(place)

    monkeypatch.setattr(api.objects, "get_range", slow)
    first = owner.page()
    assert (ids(first["messages"]), first["more"]) == (filed[:3], True)
    second = owner.page(after=first["cursor"])
    assert (ids(second["messages"]), second["more"]) == (filed[3:], False)


def test_a_long_wait_still_returns_the_messages_that_arrived(
    api: ApiStack, owner: Owner, monkeypatch: pytest.MonkeyPatch
) -> None:
    arriving(api, 20, lambda: api.file(TEXT, at=20))
    get_range = api.objects.get_range

    def slow(place: Place) -> bytes:
        api.clock.now += 4
        return get_range(place)

    monkeypatch.setattr(api.objects, "get_range", slow)
    assert len(owner.page(wait=20)["messages"]) == 1


# --- what is against the protocol ------------------------------------------------------------------------------------


def spoil(api: ApiStack, message_id: str, how: str, other: str) -> None:
    """What must not be: the row is live, and its line is not there."""
    row, others = (api.register.find(key) for each in (message_id, other) if (key := row_of(each, SHOP)))
    assert row
    assert row.place
    assert others
    assert others.place
    s3, bucket = api.deployed.clients.s3, api.deployed.bucket
    data = s3.get_object(Bucket=bucket, Key=row.place.object)["Body"].read()
    match how:
        case "gone":
            s3.delete_object(Bucket=bucket, Key=row.place.object)
        case "too short":
            s3.put_object(Bucket=bucket, Key=row.place.object, Body=b"")
        case "cut":
            s3.put_object(Bucket=bucket, Key=row.place.object, Body=data[:-9])
        case "damaged":
            s3.put_object(Bucket=bucket, Key=row.place.object, Body=b"x" * len(data))
        case "no line":
            s3.put_object(Bucket=bucket, Key=row.place.object, Body=b"[]".ljust(len(data)))
        case "another's":
            api.deployed.clients.dynamodb.update_item(
                TableName=api.deployed.tables["PostTable"],
                Key={"pk": {"S": row.key.pk}, "sk": {"S": row.key.sk}},
                UpdateExpression="SET o = :o, off = :off, #len = :len",
                ExpressionAttributeNames={"#len": "len"},
                ExpressionAttributeValues={
                    ":o": {"S": others.place.object}, ":off": {"N": str(others.place.offset)},
                    ":len": {"N": str(others.place.length)},
                },
            )  # fmt: skip


@pytest.mark.parametrize("how", ["gone", "too short", "cut", "damaged", "no line", "another's"])
def test_an_unreadable_message_is_reported_and_blocks_no_other(
    api: ApiStack, owner: Owner, caplog: pytest.LogCaptureFixture, how: str
) -> None:
    one, two, three = (api.file(TEXT, at=at)[0] for at in range(3))
    spoil(api, two, how, three)
    page = owner.page()
    assert (ids(page["messages"]), page["unreadable"], page["more"]) == ([one, three], [two], False)
    assert two in caplog.text
    reply = owner.ask("GET", "/messages")
    assert reply.unreadable == 1
    for path in (f"/messages/{two}", f"/messages/{two}/envelope"):
        reply = owner.ask("GET", path)
        assert (reply.status, reason(reply), reply.unreadable) == (503, "MessageUnreadable", 1)
    # It still waits, is counted, and is told in each pass, until it is mended or acknowledged.
    assert said(owner.ask("GET", "/status"))["waiting"] == 3
    first = owner.page(limit=1)
    second = owner.page(limit=1, after=first["cursor"])
    assert (second["messages"], second["unreadable"], second["more"]) == ([], [two], True)
    assert ids(owner.all_pages(after=second["cursor"])) == [three]
    assert owner.acknowledge(two)["acknowledged"] == [two]
    assert "unreadable" not in owner.page()


def test_a_waiting_request_reports_an_unreadable_message(api: ApiStack, owner: Owner) -> None:
    one, two = api.file(TEXT)[0], api.file(TEXT, at=1)[0]
    spoil(api, one, "gone", two)
    owner.acknowledge(two)
    assert owner.page(wait=20)["unreadable"] == [one]
    assert api.slept == []


def test_a_damaged_line_does_not_affect_its_neighbours(api: ApiStack, owner: Owner) -> None:
    one, two, three = sorted(api.file(TEXT, TEXT, TEXT))
    row = api.register.find(key) if (key := row_of(two, SHOP)) else None
    assert row
    assert row.place
    s3, at = api.deployed.clients.s3, {"Bucket": api.deployed.bucket, "Key": row.place.object}
    data = s3.get_object(**at)["Body"].read()
    spoilt = data[: row.place.offset] + b"x" * row.place.length + data[row.place.offset + row.place.length :]
    s3.put_object(**at, Body=spoilt)
    page = owner.page()
    assert (ids(page["messages"]), page["unreadable"]) == ([one, three], [two])


@pytest.mark.parametrize(
    ("filed", "asked"),
    [
        ("b.com", "B.Com"),
        ("b.com", "b.com."),
        ("xn--bcher-kva.example", "Bücher.example"),
        ("xn--bcher-kva.example", "XN--bcher-kva.example."),
        ("bücher.eth", "BÜCHER.eth"),
        ("feedback:3b6c2b4e-0000-4000-8000-0000000000ab", "Feedback:3B6C2B4E-0000-4000-8000-0000000000AB"),
        ("3b6c2b4e-0000-4000-8000-0000000000ab", "3B6C2B4E-0000-4000-8000-0000000000AB"),
    ],
)
def test_a_conversation_may_be_spelled_in_any_case(api: ApiStack, owner: Owner, filed: str, asked: str) -> None:
    [one] = api.file(TEXT, conversation=filed)
    api.file(TEXT, conversation="another.example")
    assert ids(owner.all_pages(conversation=asked)) == [one]


def test_expired_messages_are_not_listed_before_they_are_deleted(api: ApiStack, owner: Owner) -> None:
    [one], [two] = api.file(TEXT), api.file(TEXT, at=1)
    key = row_of(one, SHOP)
    assert key is not None
    api.expire(key, NOW + 100)
    assert ids(owner.page()["messages"]) == [one, two]
    api.clock.now = NOW + 101
    assert ids(owner.page()["messages"]) == [two]
    assert reason(owner.ask("GET", f"/messages/{one}")) == "MessageUnknown"
    assert said(owner.ask("GET", "/status"))["waiting"] == 1


@pytest.mark.parametrize(
    "cursor", ["x", "🤝", "AAAA", "AAAAAAAA", "A" * 200, "=", "AAAAAAAAb#cd=", write_cursor(SHOP, "m#~~")]
)
def test_a_forged_cursor_is_refused(owner: Owner, cursor: str) -> None:
    assert reason(owner.ask("GET", "/messages", query={"after": cursor})) == "CursorInvalid"


def test_a_cursor_of_another_mailbox_is_refused(api: ApiStack, owner: Owner) -> None:
    api.file(TEXT, mailbox=BOB)
    cursor = Owner(api, BOB, BOB_KEY).page()["cursor"]
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
def test_an_invalid_query_is_refused(owner: Owner, query: dict[str, str]) -> None:
    assert reason(owner.ask("GET", "/messages", query=query)) == "NotARequest"


# --- waiting ---------------------------------------------------------------------------------------------------------


def test_a_waiting_request_returns_as_soon_as_a_message_arrives(api: ApiStack, owner: Owner) -> None:
    def arrives(seconds: float) -> None:
        api.slept.append(seconds)
        api.clock.now += seconds
        if len(api.slept) == 3:
            api.file(TEXT)

    api.sleep = arrives
    assert len(owner.page(wait=20)["messages"]) == 1
    assert api.slept == [1.0, 1.0, 1.0]


def test_a_waiting_request_returns_an_empty_page_when_its_time_is_over(api: ApiStack, owner: Owner) -> None:
    assert owner.page(wait=2.5)["messages"] == []
    assert api.slept == [1.0, 1.0, 0.5]


def test_a_request_does_not_wait_when_there_are_messages(api: ApiStack, owner: Owner) -> None:
    api.file(TEXT)
    assert owner.page(wait=20)["messages"]
    assert api.slept == []


def arriving(api: ApiStack, after_looks: int, arrive: Callable[[], object]) -> None:
    """Something happens while somebody waits, after so many looks."""

    def sleep(seconds: float) -> None:
        api.slept.append(seconds)
        api.clock.now += seconds
        if len(api.slept) == after_looks:
            arrive()

    api.sleep = sleep


@pytest.mark.parametrize("stays", [True, False])
def test_a_message_filed_behind_the_cursor_ends_the_wait_for_a_new_pass(
    api: ApiStack, owner: Owner, stays: bool
) -> None:
    filed = api.file(TEXT, at=-5) + api.file(TEXT)
    cursor = owner.page()["cursor"]
    if not stays:
        owner.acknowledge(*filed)
    late: list[str] = []
    arriving(api, 3, lambda: late.extend(api.file(TEXT, at=-1000)))
    page = owner.page(after=cursor, wait=20)
    assert (page["messages"], page["cursor"], page["more"]) == ([], "", True)
    assert api.slept == [1.0] * 3
    assert ids(owner.all_pages(after=page["cursor"])) == [*late, *(filed if stays else [])]


def test_messages_that_stay_behind_the_cursor_do_not_end_the_wait(api: ApiStack, owner: Owner) -> None:
    filed = api.file(*[TEXT] * 3)
    cursor, other = owner.page()["cursor"], Owner(api)
    arriving(api, 2, lambda: other.acknowledge(filed[0]))
    page = owner.page(after=cursor, wait=4)
    assert (page["messages"], page["cursor"], page["more"], api.slept) == ([], cursor, False, [1.0] * 4)


def test_messages_after_the_cursor_are_a_page_of_the_same_pass(api: ApiStack, owner: Owner) -> None:
    api.file(TEXT)
    cursor = owner.page()["cursor"]
    new: list[str] = []
    arriving(api, 2, lambda: new.extend(api.file(TEXT, at=2)))
    page = owner.page(after=cursor, wait=20)
    assert (ids(page["messages"]), page["more"]) == (new, False)
    assert owner.page(after=page["cursor"])["messages"] == []


def test_a_wait_for_a_conversation_ends_with_its_messages_only(api: ApiStack, owner: Owner) -> None:
    api.file(TEXT)
    cursor = owner.page()["cursor"]
    arriving(api, 1, lambda: api.file(TEXT, at=-60, conversation="d.com"))
    assert owner.page(after=cursor, wait=3, conversation="c.com")["cursor"] == cursor
    api.slept.clear()
    arriving(api, 1, lambda: api.file(TEXT, at=-60, conversation="c.com"))
    assert owner.page(after=cursor, wait=3, conversation="c.com")["cursor"] == ""


def test_with_too_many_unacknowledged_messages_only_new_ones_end_the_wait(
    api: ApiStack, owner: Owner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(message_listing, "MOST_WATCHED", 2)
    api.file(*[TEXT] * 3)
    cursor = owner.page()["cursor"]
    arriving(api, 1, lambda: api.file(TEXT, at=-1000))
    assert owner.page(after=cursor, wait=3)["cursor"] == cursor
    assert len(api.slept) == 3


def test_a_head_request_does_not_wait(api: ApiStack, owner: Owner) -> None:
    assert owner.ask("HEAD", "/messages", query={"wait": "20"}).status == 200
    assert api.slept == []


# --- single messages -------------------------------------------------------------------------------------------------


def test_a_message_is_found_by_its_id_and_cached_by_its_etag(api: ApiStack, owner: Owner) -> None:
    [one] = api.file(TEXT)
    reply = owner.ask("GET", f"/messages/{one}")
    assert said(reply) == owner.page()["messages"][0]
    assert owner.ask("GET", f"/messages/{one}", headers={"if-none-match": reply.headers["ETag"]}).status == 304


@pytest.mark.parametrize(
    "wrong", ["x", "1795253400000-abc", "1795253400000-abc-0", "1795253400000-abc-99999", "🤝", "a" * 10**6]
)
def test_an_unknown_id_is_not_found(api: ApiStack, owner: Owner, wrong: str) -> None:
    api.file(TEXT)
    for path in (f"/messages/{wrong}", f"/messages/{wrong}/envelope"):
        assert reason(owner.ask("GET", path)) == "MessageUnknown"


def test_an_id_of_another_mailbox_is_not_found(api: ApiStack, owner: Owner) -> None:
    [his] = api.file(TEXT, mailbox=BOB)
    assert reason(owner.ask("GET", f"/messages/{his}")) == "MessageUnknown"


def test_an_acknowledged_message_is_not_found(api: ApiStack, owner: Owner) -> None:
    [one] = api.file(TEXT)
    owner.acknowledge(one)
    assert reason(owner.ask("GET", f"/messages/{one}")) == "MessageUnknown"


def test_an_envelope_is_returned_byte_for_byte(api: ApiStack, owner: Owner) -> None:
    [one] = api.file(TEXT)
    reply = owner.ask("GET", f"/messages/{one}/envelope")
    assert (reply.status, reply.body.decode(), reply.headers["Accept-Ranges"]) == (200, TEXT, "bytes")


def test_an_envelope_too_large_for_a_response_is_read_by_ranges(
    api: ApiStack, owner: Owner, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("message_listing", "mail_handlers"):
        monkeypatch.setattr(f"postroom.http.{module}.MAX_MESSAGE_BYTES", 1000)
    text = json.dumps({"n": list(range(700))})
    [one], [small] = api.file(text), api.file("{}", at=1)
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


def test_a_message_of_exactly_the_largest_size_is_shown_with_its_envelope(
    api: ApiStack, owner: Owner, monkeypatch: pytest.MonkeyPatch
) -> None:
    [one] = api.file(TEXT)
    size = len(owner.ask("GET", f"/messages/{one}").body)
    for most, whole in ((size, True), (size - 1, False)):
        monkeypatch.setattr(message_listing, "MAX_MESSAGE_BYTES", most)
        assert ("envelope" in said(owner.ask("GET", f"/messages/{one}"))) == whole


@pytest.mark.parametrize("wanted", ["bytes=1000-", "bytes=5-4", "bytes=-0", "bytes=0-1,3-4", "bytes=", "bytes=-"])
def test_an_unsatisfiable_range_is_refused_with_the_length(api: ApiStack, owner: Owner, wanted: str) -> None:
    [one] = api.file(ASCII)
    reply = owner.ask("GET", f"/messages/{one}/envelope", headers={"range": wanted})
    assert (reply.status, reason(reply)) == (416, "RangeUnsatisfiable")
    assert reply.headers["Content-Range"] == f"bytes */{len(ASCII)}"


@pytest.mark.parametrize(
    ("wanted", "first", "end"),
    [
        ("bytes=-5", len(ASCII) - 5, len(ASCII)),
        ("bytes=-100000", 0, len(ASCII)),
        (f"bytes=2-{'9' * 40}", 2, len(ASCII)),
        ("Bytes=0-0", 0, 1),
    ],
)
def test_a_range_may_be_a_suffix_or_end_beyond_the_end(
    api: ApiStack, owner: Owner, wanted: str, first: int, end: int
) -> None:
    [one] = api.file(ASCII)
    reply = owner.ask("GET", f"/messages/{one}/envelope", headers={"range": wanted})
    assert (reply.status, reply.body.decode()) == (206, ASCII[first:end])
    assert reply.headers["Content-Range"] == f"bytes {first}-{end - 1}/{len(ASCII)}"


@pytest.mark.parametrize("wanted", ["lines=1-2", "x"])
def test_a_range_of_another_unit_is_ignored(api: ApiStack, owner: Owner, wanted: str) -> None:
    [one] = api.file(ASCII)
    reply = owner.ask("GET", f"/messages/{one}/envelope", headers={"range": wanted})
    assert (reply.status, reply.body.decode()) == (200, ASCII)


@pytest.mark.parametrize("headers", [{}, {"range": "bytes=0-1"}, {"range": "bytes=1000-"}])
def test_head_is_get_without_a_range(
    api: ApiStack, owner: Owner, headers: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    [one] = api.file(TEXT)
    at = f"/messages/{one}/envelope"
    assert owner.ask("HEAD", at, headers=headers) == owner.ask("GET", at)
    # The size of one that is too large for a response is told, too.
    monkeypatch.setattr("postroom.http.mail_handlers.MAX_MESSAGE_BYTES", 3)
    reply = owner.ask("HEAD", at, headers=headers)
    assert (reply.status, reply.headers["Content-Range"]) == (416, f"bytes */{len(TEXT.encode())}")
    assert reply == owner.ask("GET", at)


@pytest.mark.parametrize(
    ("known", "status"),
    [
        ("{}", 304), ("W/{}", 304), ('"x", {}', 304), ('"x",W/{} , "y"', 304), ("*", 304), (" * ", 304),
        ('"x"', 200), ('"a{}"', 200), ('"x, {}, y', 304), ("", 200), ("x{}", 200), ("w/{}", 200),
    ],
)  # fmt: skip
def test_if_none_match_accepts_lists_weak_tags_and_a_star(api: ApiStack, owner: Owner, known: str, status: int) -> None:
    [one] = api.file(TEXT)
    etag = owner.ask("GET", f"/messages/{one}").headers["ETag"]
    wanted = {"if-none-match": known.replace("{}", etag)}
    assert owner.ask("GET", f"/messages/{one}", headers=wanted).status == status


# --- how much there is -----------------------------------------------------------------------------------------------


def test_conversations_are_listed_with_their_number_of_messages(api: ApiStack, owner: Owner) -> None:
    for at, partner in enumerate(["b.com", "c.com", "b.com"]):
        api.file(TEXT, conversation=partner, at=at)
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


def test_the_status_has_the_number_size_and_age_of_waiting_messages(api: ApiStack, owner: Owner) -> None:
    api.file(TEXT, TEXT, at=-100)
    api.file(TEXT)
    size = sum(map(len, api.deployed.objects().values())) - 3  # the line feeds
    assert said(owner.ask("GET", "/status")) == {
        "waiting": 3, "bytes": size, "more": False, "oldest": "2026-11-21T09:28:20.000Z", "age_seconds": 100,
    }  # fmt: skip


def test_counting_stops_at_a_limit(api: ApiStack, owner: Owner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(message_listing, "MOST_COUNTED", 3)
    api.file(*[TEXT] * 3)
    for path in ("/status", "/conversations"):
        assert said(owner.ask("GET", path))["more"] is False
    api.file(TEXT, at=1, conversation="d.com")
    assert said(owner.ask("GET", "/status"))["waiting"] == 3
    for path in ("/status", "/conversations"):
        assert said(owner.ask("GET", path))["more"] is True


def bury(api: ApiStack, count: int, at: float, shards: int = 1) -> None:
    """Tombstones of messages that came at this time."""
    for one in api.file(*[TEXT] * count, at=at, shards=shards):
        row = row_of(one, SHOP)
        assert row
        api.deployed.storage.register.acknowledge(row, int(NOW) + 10**6)


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """A request ends at the first place among what it does not show."""
    monkeypatch.setattr(message_listing, "READING_SECONDS", 0.0)


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("shards", [1, 4])
def test_a_page_ends_among_many_tombstones_and_the_next_one_goes_on(api: ApiStack, owner: Owner, shards: int) -> None:
    api.mailboxes.raise_shards(SHOP, shards)
    api.clock.now += 30
    filed = api.file(TEXT, at=-900, shards=shards)
    bury(api, 80, at=-800, shards=shards)
    filed += api.file(TEXT, at=-700, shards=shards)
    pages, cursors = [owner.page(limit=1)], [""]
    while pages[-1]["more"]:
        cursors.append(pages[-1]["cursor"])
        pages.append(owner.page(limit=1, after=cursors[-1]))
    assert [one for page in pages for one in ids(page["messages"])] == filed
    assert len(set(cursors)) == len(cursors)
    empty = [page for page in pages if not page["messages"]]
    assert len(empty) >= 2
    assert all("status" not in page for page in empty if page["more"])


@pytest.mark.usefixtures("hurried")
def test_a_page_ends_among_many_messages_of_other_conversations(api: ApiStack, owner: Owner) -> None:
    api.file(*[TEXT] * 40, at=-800, conversation="d.com")
    filed = api.file(TEXT, at=-700)
    assert (first := owner.page(limit=1, conversation="b.com"))["messages"] == []
    assert first["more"] is True
    assert ids(owner.all_pages(limit=1, conversation="b.com")) == filed


@pytest.mark.usefixtures("hurried")
def test_tombstones_after_a_cursor_are_not_behind_it(
    api: ApiStack, owner: Owner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(message_listing, "MOST_WATCHED", 1)
    [filed] = api.file(TEXT, at=-900)
    cursor = owner.page()["cursor"]
    bury(api, 40, at=-800)
    assert api.mail.listing.behind(SHOP, cursor, frozenset()) == {row_of(filed, SHOP)}
    bury(api, 40, at=-1000)
    assert api.mail.listing.behind(SHOP, cursor, frozenset()) is None


@pytest.mark.usefixtures("hurried")
def test_counting_ends_among_many_tombstones(api: ApiStack, owner: Owner, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first query reads so many rows as are counted, and has no place where it ends."""
    monkeypatch.setattr(message_listing, "MOST_COUNTED", 3)
    api.file(TEXT, at=-900)
    bury(api, 80, at=-800)
    api.file(TEXT, at=-700)
    for path in ("/status", "/conversations"):
        assert said(owner.ask("GET", path))["more"] is True
    assert said(owner.ask("GET", "/status"))["waiting"] == 1


@pytest.mark.usefixtures("hurried")
def test_a_waiting_request_at_the_end_of_many_tombstones_shows_what_comes_behind_them(
    api: ApiStack, owner: Owner
) -> None:
    bury(api, 40, at=-800)
    [behind] = api.file(TEXT, at=-700)
    page = owner.page(limit=1, wait=20)
    while not page["messages"]:
        assert page["more"]
        page = owner.page(limit=1, after=page["cursor"], wait=20)
    assert ids(page["messages"]) == [behind]


# --- what goes wrong -------------------------------------------------------------------------------------------------


def test_an_unavailable_store_is_retried_and_no_page_is_returned(
    api: ApiStack, owner: Owner, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: object) -> None:
        raise NotNowError(STORE_UNAVAILABLE)

    api.file(TEXT)
    monkeypatch.setattr(api.objects, "get_range", away)
    reply = owner.ask("GET", "/messages")
    assert (reply.status, reason(reply), reply.headers["Retry-After"]) == (503, "ContentUnavailable", "5")


def test_our_own_error_is_a_503_without_a_stack_trace(
    api: ApiStack, owner: Owner, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: object) -> bytes:
        raise RuntimeError("a mistake")

    monkeypatch.setattr(api.objects, "get_range", broken)
    api.file(TEXT)
    reply = owner.ask("GET", "/messages")
    assert reason(reply) == "ContentUnavailable"
    assert b"Traceback" not in reply.body


def test_too_many_requests_of_a_mailbox_get_429(api: ApiStack, owner: Owner) -> None:
    answers = [owner.ask("GET", "/status").status for _ in range(101)]
    assert answers == [200] * 100 + [429]
    bob = Owner(api, BOB, BOB_KEY)
    assert said(bob.ask("GET", "/status"))
    api.clock.now += 1
    assert [owner.ask("GET", "/status").status for _ in range(21)] == [200] * 20 + [429]


@pytest.mark.parametrize(
    ("method", "path", "wanted"),
    [
        ("GET", "/", "NoSuchRoute"),
        ("GET", "/mailboxes", "NoSuchRoute"),
        ("GET", f"/mailboxes/{SHOP}", "MethodNotAllowed"),
        ("GET", f"/mailboxes/{SHOP}/../bob.eth/messages", "NoSuchRoute"),
        ("GET", f"//mailboxes/{SHOP}/messages", "NoSuchRoute"),
        ("GET", "/mailboxes//messages", "NoMailboxName"),
        ("DELETE", f"/mailboxes/{SHOP}/messages", "MethodNotAllowed"),
        ("POST", f"/mailboxes/{SHOP}/messages", "MethodNotAllowed"),
        ("PUT", f"/auth/{SHOP}", "MethodNotAllowed"),
    ],
)
def test_an_unknown_path_is_not_found(api: ApiStack, owner: Owner, method: str, path: str, wanted: str) -> None:
    assert reason(api.ask(method, path, token=owner.token)) == wanted


def test_a_wrong_method_gets_405_with_the_allowed_methods(api: ApiStack) -> None:
    assert api.ask("PUT", f"/auth/{SHOP}").headers["Allow"] == "GET, HEAD, OPTIONS, POST"
    assert api.ask("HEAD", f"/mailboxes/{SHOP}/sign-out").headers["Allow"] == "OPTIONS, POST"


def test_every_get_answers_head(owner: Owner) -> None:
    assert owner.ask("HEAD", "/status").status == 200
