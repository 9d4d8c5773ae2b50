"""Rows are read by the hundred and moved one by one; whoever is throttled asks again, later, and slower."""

from itertools import count

import pytest
from botocore.exceptions import ClientError, ReadTimeoutError
from tests.aws import Clients, Deployed
from tests.jobs.played import UNHINDERED
from tests.jobs.wire import Json, Send, between, refused, throttled

from postroom.core.errors import NotNowError, OurError
from postroom.core.reasons import STORE_UNAVAILABLE
from postroom.jobs.pace import Pace
from postroom.jobs.paced_requests import TRIES
from postroom.jobs.registers import MOST_READ, Registers
from postroom.jobs.tally import Tally
from postroom.storage.aws.object_store import Place
from postroom.storage.layout import RowKey, row_key
from postroom.storage.mail.register import ACKED, Row

SEGMENT, CHUNK = Place("seg/s", 10, 5), Place("chk/c", 30, 6)
NUMBERS = count()


class Noted(Pace):
    """A pace that notes what was taken of it, and how often it was told to go slower."""

    def __init__(self) -> None:
        super().__init__(UNHINDERED)
        self.taken: list[int] = []
        self.slower = 0

    def take(self, units: int) -> None:
        self.taken.append(units)
        super().take(units)

    def throttled(self) -> None:
        self.slower += 1
        super().throttled()


class Table:
    def __init__(self, deployed: Deployed, clients: Clients) -> None:
        self.deployed, self.dynamodb = deployed, clients.dynamodb
        self.reads, self.writes, self.tally = Noted(), Noted(), Tally()
        self.pauses: list[float] = []
        self.register = deployed.storage.register
        self.registers = Registers(
            clients.dynamodb, deployed.tables["PostTable"],
            reads=self.reads, writes=self.writes, tally=self.tally, sleep=self.pauses.append,
        )  # fmt: skip
        self.requests: list[Json] = []
        self.throttle(0)

    def throttle(self, times: float) -> None:
        """So often the table cannot keep up."""

        def answer(operation: str, request: Json, send: Send) -> Json:
            self.requests.append(request)
            if len(self.requests) <= times:
                raise throttled(operation)
            return send(request)

        between(self.dynamodb, answer)

    def live(self, place: Place = SEGMENT) -> RowKey:
        key = row_key("a.com", 1, 1_795_253_400_000, f"c{next(NUMBERS)}")
        self.register.file(key, place, "b.com")
        return key


@pytest.fixture
def table(deployed: Deployed, victims: list[Clients]) -> Table:
    return Table(deployed, victims[0])


# --- reading ----------------------------------------------------------------------------------------------------------


def test_each_row_is_found(table: Table) -> None:
    live, gone, absent, strange, torn = (*(table.live() for _ in range(4)), table.live())
    table.register.acknowledge(gone, 99)
    for key, item in ((absent, None), (strange, {"st": {"S": "X"}}), (torn, {"st": {"S": "L"}})):
        row = {"pk": {"S": key.pk}, "sk": {"S": key.sk}}
        if item is None:
            table.deployed.clients.dynamodb.delete_item(TableName="PostTable", Key=row)
        else:
            table.deployed.clients.dynamodb.put_item(TableName="PostTable", Item=row | item)
    found = table.registers.find_all([live, gone, absent, strange, torn])
    assert found[live] == Row(live, SEGMENT, "b.com")
    assert found[gone] == Row(gone, why=ACKED)
    assert found[absent] is None
    for key in (strange, torn):
        assert isinstance(found[key], OurError), "of no form that is known: nobody takes it for either"
        assert key.sk in str(found[key])


def test_rows_are_read_consistently_and_once(table: Table) -> None:
    one, other = table.live(), table.live()
    found = table.registers.find_all([one, other, one, one])
    assert list(found) == [one, other]
    [request] = table.requests
    assert request["RequestItems"]["PostTable"]["ConsistentRead"] is True
    assert len(request["RequestItems"]["PostTable"]["Keys"]) == 2
    assert table.reads.taken == [2]
    assert table.tally.take() == {"units.read": 2, "dynamodb.read": 1}


def test_unprocessed_keys_are_requested_again_and_counted_once(table: Table) -> None:
    keys = [table.live() for _ in range(MOST_READ)]

    def in_part(_operation: str, request: Json, send: Send) -> Json:
        asked = request["RequestItems"]["PostTable"]["Keys"]
        few = {"PostTable": request["RequestItems"]["PostTable"] | {"Keys": asked[:40]}}
        rest = {"PostTable": {"Keys": asked[40:], "ConsistentRead": True}} if asked[40:] else {}
        return send({"RequestItems": few}) | {"UnprocessedKeys": rest}

    between(table.dynamodb, in_part)
    found = table.registers.find_all(keys)
    assert [found[key] for key in keys] == [Row(key, SEGMENT, "b.com") for key in keys]
    assert table.reads.taken == [100, 60, 20]
    assert (table.reads.slower, len(table.pauses)) == (2, 2)
    counts = table.tally.take()
    assert (counts["units.read"], counts["throttled.reads"]) == (100, 2)


def test_throttled_requests_are_repeated_with_growing_delays(table: Table) -> None:
    key = table.live()
    table.throttle(TRIES - 1)
    assert table.registers.find_all([key]) == {key: Row(key, SEGMENT, "b.com")}
    assert table.reads.slower == TRIES - 1
    for number, pause in enumerate(table.pauses):
        assert 0 <= pause <= min(0.1 * 2**number, 10)
    assert len(set(table.pauses)) > 1, "never the same for two that were throttled together"


def test_permanent_throttling_is_a_not_now_error(table: Table) -> None:
    key = table.live()
    table.throttle(1000)
    for attempt in (lambda: table.registers.find_all([key]), lambda: table.registers.repoint(key, "seg/s", CHUNK)):
        table.requests.clear()
        with pytest.raises(NotNowError) as error:
            attempt()
        assert error.value.reason is STORE_UNAVAILABLE
        assert "ThrottlingException" in str(error.value.__cause__), "the log says what was in the way"
        assert len(table.requests) == TRIES
    assert (table.reads.slower, table.writes.slower) == (TRIES - 1, TRIES - 1)
    assert table.register.find(key) == Row(key, SEGMENT, "b.com")


def test_a_permanent_error_is_not_retried(table: Table) -> None:
    def answer(operation: str, request: Json, _send: Send) -> Json:
        table.requests.append(request)
        raise refused(operation, "AccessDeniedException")

    between(table.dynamodb, answer)
    with pytest.raises(ClientError, match="AccessDenied"):
        table.registers.find_all([RowKey("a.com#0", "m#1795253400000#c1")])
    assert (len(table.requests), table.pauses) == (1, [])


# --- moving -----------------------------------------------------------------------------------------------------------


def test_a_row_at_the_source_is_repointed_and_otherwise_unchanged(table: Table) -> None:
    key = table.live()
    assert table.registers.repoint(key, "seg/s", CHUNK) is True
    assert table.register.find(key) == Row(key, CHUNK, "b.com")
    assert table.writes.taken == [1]


def test_a_row_that_has_moved_on_stays_where_it_is(table: Table) -> None:
    acknowledged, elsewhere = table.live(), table.live(Place("chk/other", 0, 1))
    table.register.acknowledge(acknowledged, 99)
    swept = row_key("a.com", 1, 0, "swept")
    before = table.deployed.rows("PostTable")
    for key in (acknowledged, elsewhere, swept):
        assert table.registers.repoint(key, "seg/s", CHUNK) is False
    assert table.deployed.rows("PostTable") == before, "and none is made"


def test_a_row_is_repointed_once_if_asked_twice(table: Table) -> None:
    key = table.live()
    assert table.registers.repoint(key, "seg/s", CHUNK) is True
    assert table.registers.repoint(key, "seg/s", CHUNK) is False
    assert table.register.find(key) == Row(key, CHUNK, "b.com")


def test_a_repoint_whose_answer_was_lost_succeeds_when_repeated(table: Table) -> None:
    key = table.live()

    def answer(_operation: str, request: Json, send: Send) -> Json:
        table.requests.append(request)
        answered = send(request)
        if len(table.requests) == 1:
            raise ReadTimeoutError(endpoint_url="https://aws")
        return answered

    between(table.dynamodb, answer)
    assert table.registers.repoint(key, "seg/s", CHUNK) is False
    assert table.register.find(key) == Row(key, CHUNK, "b.com")
    assert table.writes.taken == [1, 1], "each try is paid for"
