import pytest
from botocore.exceptions import ClientError
from tests.aws import Deployed

from postroom.core.errors import OurError
from postroom.core.reasons import TOO_LATE
from postroom.storage.aws.object_store import Place
from postroom.storage.layout import RowKey, row_key
from postroom.storage.mail.reader import Filed, Unreadable, runs_of
from postroom.storage.mail.register import Row
from postroom.storage.mail.segments import Line, lay_out

SHARDS = 4


class Mailbox:
    """One mailbox, filled by hand."""

    def __init__(self, deployed: Deployed) -> None:
        self.deployed = deployed
        self.register = deployed.storage.register
        self.objects = deployed.storage.objects
        self.reader = deployed.storage.reader

    def file(self, number: int, conversation: str = "b.com", mailbox: str = "a.com") -> RowKey:
        """A message that came in at second `number`; in a segment of its own."""
        key = row_key(mailbox, SHARDS, number * 1000, f"claim{number}")
        [place] = self.put(f"seg/{mailbox}/{number}", key)
        self.register.file(key, place, conversation)
        return key

    def put(self, name: str, *keys: RowKey) -> list[Place]:
        data, places = lay_out([Line(key, "b.com", f'{{"n":"{key.claim_id}"}}', {}) for key in keys], name)
        self.objects.put(name, data)
        return places

    def repoint(self, row: Row, place: Place) -> None:
        """What compaction does to a row."""
        self.deployed.clients.dynamodb.update_item(
            TableName=self.deployed.tables["PostTable"],
            Key={"pk": {"S": row.key.pk}, "sk": {"S": row.key.sk}},
            UpdateExpression="SET o = :o, off = :off",
            ExpressionAttributeValues={":o": {"S": place.object}, ":off": {"N": str(place.offset)}},
        )

    def listed(self, now: int = 0, cursor: str = "", conversation: str = "", shards: int = SHARDS) -> list[RowKey]:
        conversations = frozenset({conversation} if conversation else ())
        rows = self.reader.list("a.com", shards, now=now, cursor=cursor, conversations=conversations)
        return [row.key for row in rows]


@pytest.fixture
def mailbox(deployed: Deployed) -> Mailbox:
    return Mailbox(deployed)


def test_rows_are_listed_by_time_of_arrival_across_all_shards(mailbox: Mailbox) -> None:
    keys = [mailbox.file(number) for number in (5, 3, 11, 1, 7, 2)]
    assert len({key.pk for key in keys}) > 1
    assert mailbox.listed() == sorted(keys, key=lambda key: key.received_at_ms)


def test_rows_written_under_a_smaller_shard_count_are_still_found(mailbox: Mailbox) -> None:
    keys = [mailbox.file(number) for number in range(6)]
    assert mailbox.listed(shards=SHARDS * 2) == keys


def test_a_mailbox_shows_its_own_rows_only(mailbox: Mailbox) -> None:
    mailbox.file(1, mailbox="a.com.evil")
    mailbox.file(2, mailbox="b.com")
    mine = mailbox.file(3)
    assert mailbox.listed() == [mine]


def test_the_cursor_is_the_last_row_and_stable_under_arrival_and_acknowledgement(mailbox: Mailbox) -> None:
    first, second, third = (mailbox.file(number) for number in (1, 2, 4))
    cursor = second.sk
    mailbox.register.acknowledge(first, 100)
    mailbox.register.acknowledge(second, 100)
    late, between, newest = mailbox.file(0), mailbox.file(3), mailbox.file(5)
    assert mailbox.listed(cursor=cursor) == [between, third, newest]
    # Filed behind the cursor: the next pass from the beginning shows it.
    assert mailbox.listed() == [late, between, third, newest]


def test_the_cursor_holds_across_shards_at_the_same_millisecond(mailbox: Mailbox) -> None:
    keys = sorted((row_key("a.com", SHARDS, 1000, f"c{n}") for n in range(8)), key=lambda key: key.sk)
    for key in keys:
        mailbox.register.file(key, Place("seg/x", 0, 1), "b.com")
    assert len({key.pk for key in keys}) > 1
    for number, key in enumerate(keys):
        assert mailbox.listed(cursor=key.sk) == keys[number + 1 :]


def test_a_conversation_is_a_filter(mailbox: Mailbox) -> None:
    mailbox.file(1, "b.com")
    one = mailbox.file(2, "c.com")
    mailbox.file(3, "b.com")
    two = mailbox.file(4, "c.com")
    assert mailbox.listed(conversation="c.com") == [one, two]
    assert mailbox.listed(conversation="c.com", cursor=one.sk) == [two]
    assert mailbox.listed(conversation="d.com") == []


def test_neither_acknowledged_nor_discarded_nor_forwarded_rows_are_listed(mailbox: Mailbox) -> None:
    acknowledged = mailbox.file(1)
    mailbox.register.acknowledge(acknowledged, 100)
    mailbox.register.discard(row_key("a.com", SHARDS, 2000, "x"), TOO_LATE, 100)
    mailbox.register.forwarded(row_key("a.com", SHARDS, 3000, "y"), 100)
    assert mailbox.listed() == []


def test_a_row_past_its_ttl_is_not_listed_before_it_is_swept(mailbox: Mailbox) -> None:
    key = mailbox.file(1)
    mailbox.deployed.clients.dynamodb.update_item(
        TableName=mailbox.deployed.tables["PostTable"],
        Key={"pk": {"S": key.pk}, "sk": {"S": key.sk}},
        UpdateExpression="SET #ttl = :ttl",
        ExpressionAttributeNames={"#ttl": "ttl"},
        ExpressionAttributeValues={":ttl": {"N": "100"}},
    )
    assert mailbox.listed(now=100) == [key]
    assert mailbox.listed(now=101) == []


def row_of(mailbox: Mailbox, key: RowKey) -> Row:
    row = mailbox.register.find(key)
    assert row is not None
    return row


def test_a_message_is_fetched_from_where_its_row_points(mailbox: Mailbox) -> None:
    key = mailbox.file(1)
    filed = mailbox.reader.fetch(row_of(mailbox, key))
    assert filed is not None
    assert (filed.line.row, filed.line.envelope) == (key, '{"n":"claim1"}')


def test_on_a_404_the_row_is_read_again_and_the_message_fetched_from_its_new_place(mailbox: Mailbox) -> None:
    key, other = mailbox.file(1), mailbox.file(2)
    before = row_of(mailbox, key)
    assert before.place is not None
    place = mailbox.put("chk/x", other, key)[1]
    mailbox.repoint(before, place)
    mailbox.deployed.clients.s3.delete_object(Bucket=mailbox.deployed.bucket, Key=before.place.object)
    filed = mailbox.reader.fetch(before)
    assert filed is not None
    assert (filed.row.place, filed.line.row) == (place, key)


def test_on_a_404_a_message_that_is_gone_meanwhile_is_skipped(mailbox: Mailbox) -> None:
    key = mailbox.file(1)
    before = row_of(mailbox, key)
    assert before.place is not None
    mailbox.register.acknowledge(key, 100)
    mailbox.deployed.clients.s3.delete_object(Bucket=mailbox.deployed.bucket, Key=before.place.object)
    assert mailbox.reader.fetch(before) is None


def test_a_live_row_without_its_object_is_never_skipped_silently(mailbox: Mailbox) -> None:
    before = row_of(mailbox, mailbox.file(1))
    assert before.place is not None
    mailbox.deployed.clients.s3.delete_object(Bucket=mailbox.deployed.bucket, Key=before.place.object)
    assert mailbox.reader.fetch(before) == Unreadable(before)
    with pytest.raises(OurError, match=before.key.claim_id):
        mailbox.reader.fetch_all([before])


def test_a_line_that_names_another_row_counts_as_missing(mailbox: Mailbox) -> None:
    key, other = mailbox.file(1), mailbox.file(2)
    row, others = row_of(mailbox, key), row_of(mailbox, other)
    assert others.place is not None
    mailbox.deployed.clients.dynamodb.update_item(
        TableName=mailbox.deployed.tables["PostTable"],
        Key={"pk": {"S": key.pk}, "sk": {"S": key.sk}},
        UpdateExpression="SET o = :o",
        ExpressionAttributeValues={":o": {"S": others.place.object}},
    )
    row = row_of(mailbox, key)
    assert mailbox.reader.fetch(row) == Unreadable(row)
    # Beside the one whose line it is, too: neither is taken for the other, nor passed over.
    [run] = runs_of([row, others])
    assert [type(each) for each in mailbox.reader.fetch_run(run)] == [Unreadable, Filed]


def test_messages_are_fetched_in_the_order_of_their_rows_and_neighbours_by_one_request(mailbox: Mailbox) -> None:
    keys = [row_key("a.com", SHARDS, 1000 + n, f"claim{n}") for n in range(5)]
    scattered = mailbox.file(9)
    for key, place in zip(reversed(keys), mailbox.put("seg/one", *reversed(keys)), strict=True):
        mailbox.register.file(key, place, "b.com")
    rows = [row_of(mailbox, key) for key in [*keys, scattered]]
    reads: list[str] = []
    mailbox.deployed.clients.s3.meta.events.register(
        "before-call.s3.GetObject", lambda params, **_: reads.append(params["url_path"])
    )
    assert [filed.line.row for filed in mailbox.reader.fetch_all(rows)] == [*keys, scattered]
    assert len(reads) == 2


def test_the_rows_of_neighbours_that_moved_meanwhile_are_read_again(mailbox: Mailbox) -> None:
    moved, gone = row_key("a.com", SHARDS, 1, "moved"), row_key("a.com", SHARDS, 2, "gone")
    for key, place in zip((moved, gone), mailbox.put("seg/one", moved, gone), strict=True):
        mailbox.register.file(key, place, "b.com")
    before = [row_of(mailbox, moved), row_of(mailbox, gone)]
    mailbox.repoint(before[0], mailbox.put("chk/x", moved)[0])
    mailbox.register.acknowledge(gone, 100)
    mailbox.deployed.clients.s3.delete_object(Bucket=mailbox.deployed.bucket, Key="seg/one")
    assert [filed.line.row for filed in mailbox.reader.fetch_all(before)] == [moved]


def test_reading_writes_nothing(mailbox: Mailbox) -> None:
    key = mailbox.file(1)
    before = mailbox.deployed.dump()
    mailbox.listed()
    mailbox.reader.fetch(row_of(mailbox, key))
    assert mailbox.deployed.dump() == before


def test_a_missing_object_is_missing_to_a_role_that_may_not_list_the_bucket(
    mailbox: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S3 denies access there instead of saying 404 (API reference, GetObject, Permissions)."""
    key = mailbox.file(1)
    row = mailbox.register.find(key)
    assert row is not None
    [moved] = mailbox.put("chk/1", key)
    mailbox.repoint(row, moved)
    get_object = mailbox.deployed.clients.s3.get_object

    def denied(**request: object) -> object:
        if request["Key"] == "seg/a.com/1":
            raise ClientError({"Error": {"Code": "AccessDenied"}}, "GetObject")
        return get_object(**request)  # type: ignore[arg-type]

    monkeypatch.setattr(mailbox.deployed.clients.s3, "get_object", denied)
    assert [filed.row.place for filed in mailbox.reader.fetch_all([row])] == [moved]
