"""Compact 3 and 4: chunks hold the lines as they are to stand there, and rows are asked to move once they do."""

import json
from collections import Counter
from itertools import count
from unittest.mock import patch

import pytest
from botocore.exceptions import ReadTimeoutError
from tests.aws import Clients, Deployed
from tests.fakes.executor import SerialExecutor
from tests.jobs.mail import NOW, RETAIN, Mail
from tests.jobs.played import Played
from tests.jobs.wire import Json, Send, between, refused, throttled

from postroom.core.errors import NotNowError
from postroom.jobs.moving import Mover
from postroom.jobs.paced_requests import TRIES
from postroom.jobs.past_lines import PastLines, bits
from postroom.jobs.reading import Read, read_line
from postroom.jobs.tally import Tally
from postroom.storage.aws.object_store import Place
from postroom.storage.layout import CHUNKS
from postroom.storage.mail import chunks
from postroom.storage.mail.chunks import ChunkLine
from postroom.storage.mail.object_schedule import DAY_MS
from postroom.storage.mail.segments import decode_line

THEN = NOW - 3 * DAY_MS


class Removal:
    """Mail in two segments, on its way into chunks."""

    def __init__(self, deployed: Deployed, clients: Clients) -> None:
        self.mail, self.clients = Mail(deployed), clients
        between(clients.s3, lambda _operation, request, send: send(request))
        between(clients.dynamodb, lambda _operation, request, send: send(request))
        self.tally = Tally()
        self.kept: list[ChunkLine] = []
        for sender in ("a.com", "b.com"):
            lines = [self.mail.message(THEN + number, sender) for number in range(3)]
            places = self.mail.segment(THEN, *lines)
            for number, (line, place) in enumerate(zip(lines, places, strict=True)):
                self.mail.file(line, place)
                read = read_line(place.object, place.offset, line.encode())
                assert isinstance(read, Read)
                self.kept.append(ChunkLine(line.row, sender, place.object, number, read.moved))
        self.sources = list(dict.fromkeys(line.source for line in self.kept))

    def move(self, *, dry_run: bool = False) -> list[PastLines]:
        names, job = count(1), Played(self.mail.deployed, RETAIN)
        mover = Mover(
            job.bucket(self.tally, self.clients), job.registers(self.tally, self.clients), self.tally, SerialExecutor(),
            lambda: f"chk/2026/11/21/09/{next(names)}.jsonl", dry_run=dry_run,
        )  # fmt: skip
        return list(mover.move(self.kept))

    def place(self, line: ChunkLine) -> Place:
        row = self.mail.register.find(line.row)
        assert row is not None
        assert row.place is not None
        return row.place

    def chunks(self) -> dict[str, bytes]:
        return {name: data for name, data in self.mail.deployed.objects().items() if name.startswith(CHUNKS)}


@pytest.fixture
def removal(deployed: Deployed, victims: list[Clients]) -> Removal:
    return Removal(deployed, victims[0])


def test_rows_point_to_the_lines_and_the_lines_to_where_they_come_from(removal: Removal) -> None:
    evidence = removal.move()
    [(name, data)] = removal.chunks().items()
    for line in removal.kept:
        place = removal.place(line)
        there = data[place.offset : place.offset + place.length]
        assert (place.object, there) == (name, line.data)
        assert data[place.offset + place.length :][:1] == b"\n"
        assert decode_line(there).row == line.row
        assert json.loads(there)["src"] == line.source
    assert [decode_line(line).row for line in data.splitlines()] == [line.row for line in removal.kept]
    assert Counter(evidence) == Counter(PastLines(source, 0, bits(range(3))) for source in removal.sources)
    removal.mail.check(NOW)
    assert removal.mail.problems(NOW) == ()


def test_without_lines_to_move_nothing_is_written(removal: Removal) -> None:
    removal.kept = []
    assert removal.move() == []
    assert removal.chunks() == {}


def test_every_row_has_left_its_source_whether_or_not_this_run_moved_it(removal: Removal) -> None:
    removal.mail.acknowledge(removal.kept[0].row)
    evidence = removal.move()
    assert Counter(evidence) == Counter(PastLines(source, 0, bits(range(3))) for source in removal.sources)
    counts = removal.tally.take()
    assert (counts["lines.repointed"], counts["lines.refused"]) == (5, 1)
    removal.mail.check(NOW)


def test_a_full_chunk_is_followed_by_another(removal: Removal) -> None:
    two = 2 * len(removal.kept[0].data) + 2
    with patch.multiple(chunks, FULL_BYTES=two, ENOUGH_BYTES=two):
        evidence = removal.move()
    assert len(removal.chunks()) == 3
    past: Counter[str] = Counter()
    for each in evidence:
        past[each.source] += int.from_bytes(each.past, "little")
    assert past == dict.fromkeys(removal.sources, 0b111), "each line is told of once"
    removal.mail.check(NOW)


def test_no_row_is_repointed_before_its_chunk_exists(removal: Removal) -> None:
    def answer(operation: str, request: Json, send: Send) -> Json:
        if operation == "UpdateItem":
            assert request["ExpressionAttributeValues"][":o"]["S"] in removal.chunks()
        return send(request)

    between(removal.clients.dynamodb, answer)
    removal.move()
    removal.mail.check(NOW)


def test_a_put_that_its_first_attempt_completed_counts(removal: Removal) -> None:
    """The SDK asks again where no answer came, and hears that the name is taken."""

    def answer(operation: str, request: Json, send: Send) -> Json:
        send(request)
        raise refused(operation, "PreconditionFailed", 412)

    between(removal.clients.s3, answer)
    removal.move()
    [name] = removal.chunks()
    assert {removal.place(line).object for line in removal.kept} == {name}
    removal.mail.check(NOW)


def test_a_chunk_whose_put_had_no_answer_is_not_written_twice(removal: Removal) -> None:
    asked: list[str] = []

    def answer(_operation: str, request: Json, send: Send) -> Json:
        asked.append(request["Key"])
        answered = send(request)
        if len(asked) == 1:
            raise ReadTimeoutError(endpoint_url="https://aws")
        return answered

    between(removal.clients.s3, answer)
    removal.move()
    assert len(asked) == 2
    assert set(removal.chunks()) == set(asked[:1])
    assert {removal.place(line).object for line in removal.kept} == {asked[0]}
    removal.mail.check(NOW)


def test_no_row_is_repointed_if_no_chunk_can_be_written(removal: Removal) -> None:
    tries = 0

    def answer(operation: str, _request: Json, _send: Send) -> Json:
        nonlocal tries
        tries += 1
        raise throttled(operation)

    between(removal.clients.s3, answer)
    before = removal.mail.deployed.dump()
    with pytest.raises(NotNowError):
        removal.move()
    assert tries == TRIES
    assert removal.mail.deployed.dump() == before


def test_a_dry_run_repoints_nothing_and_reports_what_would_be_past(removal: Removal) -> None:
    before = removal.mail.deployed.dump()
    would = removal.move(dry_run=True)
    assert removal.mail.deployed.dump() == before
    counts = removal.tally.take()
    assert (counts["chunks"], counts["lines.repointed"], counts["lines.refused"]) == (1, 0, 0)
    assert would == removal.move()
