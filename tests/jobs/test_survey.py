"""Compact 1 and 2: each line of what is due is held against its row; what is damaged stays, and is told of once."""

import json
from base64 import b64decode
from collections.abc import Set

import pytest
from tests.aws import Deployed
from tests.fakes.executor import SerialExecutor
from tests.jobs.mail import NOW, RETAIN, Mail
from tests.jobs.played import Played

from postroom.jobs.bucket import BucketObject
from postroom.jobs.past_lines import PastLines, bits
from postroom.jobs.quarantine import MOST_SHOWN, Quarantine
from postroom.jobs.survey import Survey, Terms
from postroom.jobs.tally import Counts, Tally
from postroom.storage.aws.object_store import Place
from postroom.storage.layout import quarantine_name
from postroom.storage.mail.chunks import ChunkLine
from postroom.storage.mail.object_schedule import DAY_MS, MONTH_MS
from postroom.storage.mail.segments import Line, decode_line

THEN = NOW - 3 * DAY_MS


class Looking:
    """A survey of objects by their names."""

    def __init__(self, mail: Mail, *, held: Set[str] = frozenset(), dry_run: bool = False, now: int = NOW) -> None:
        self.job = Played(mail.deployed, RETAIN)
        self.tally = Tally()
        bucket = self.job.bucket(self.tally)
        self.sizes = mail.sizes()
        self._survey = Survey(
            bucket, self.job.registers(self.tally), Quarantine(bucket, self.tally, dry_run=dry_run),
            Terms(now, RETAIN, held), self.tally, SerialExecutor(),
        )  # fmt: skip

    def at(self, *names: str) -> tuple[list[ChunkLine], list[PastLines]]:
        found = list(self._survey.survey(BucketObject(name, self.sizes.get(name, 0)) for name in names))
        return [each for each in found if isinstance(each, ChunkLine)], [
            each for each in found if isinstance(each, PastLines)
        ]

    def counts(self) -> Counts:
        return Counts({name: count for name, count in self.tally.take().items() if not name.startswith("us.")})


@pytest.fixture
def mail(deployed: Deployed) -> Mail:
    return Mail(deployed)


def lines_of(mail: Mail, many: int, at: int = THEN) -> list[Line]:
    return [mail.message(at + number) for number in range(many)]


def test_live_lines_are_kept_and_the_state_of_the_others_is_known(mail: Mail) -> None:
    live, acknowledged, discarded, expired, redelivered, late = lines_of(mail, 6)
    forgotten = mail.message(NOW - RETAIN * 1000 - DAY_MS)
    mail.deliver(THEN, redelivered)
    mail.discard(discarded.row)
    places = mail.segment(THEN, live, acknowledged, discarded, expired, redelivered, late, forgotten)
    for line, place in zip((live, acknowledged, discarded, expired), places, strict=False):
        mail.file(line, place)
    mail.acknowledge(acknowledged.row)
    mail.expire(expired.row)
    looking, name = Looking(mail), places[0].object
    [kept], [evidence] = looking.at(name)
    assert (kept.row, kept.conversation, kept.source, kept.number) == (live.row, "a.com", name, 0)
    assert decode_line(kept.data) == live
    assert json.loads(kept.data)["src"] == name
    assert evidence == PastLines(name, 7, bits([1, 2, 3, 4, 6]), mail.sizes()[name])
    counts = looking.counts()
    dropped = ("acked", "discarded", "expired", "moved", "forgotten")
    assert {stand: counts[f"dropped.{stand}"] for stand in dropped} == dict.fromkeys(dropped, 1)
    assert (counts["left.to come"], counts["lines.read"], counts["lines.kept"]) == (1, 7, 1)


def test_the_lines_of_a_mailbox_under_legal_hold_stay_unless_they_were_copied(mail: Mail) -> None:
    ours, theirs, moved, waits = (mail.message(THEN, mailbox=name) for name in ("a.com", "b.com", "a.com", "a.com"))
    mail.deliver(THEN, moved)
    name = mail.deliver(THEN, ours, theirs, moved, waits)
    mail.acknowledge(ours.row)
    mail.acknowledge(theirs.row)
    looking = Looking(mail, held={"a.com"})
    [kept], [evidence] = looking.at(name)
    assert kept.row == waits.row, "what waits may move: it lies elsewhere then"
    assert evidence.past == bits([1, 2])
    assert looking.counts()["left.held"] == 1


def test_a_line_whose_row_points_to_another_place_of_its_object_is_reported_and_stays(mail: Mail) -> None:
    one, other = lines_of(mail, 2)
    places = mail.segment(THEN, one, one, other)
    mail.file(one, places[1])
    mail.file(other, places[2])
    looking, name = Looking(mail), places[0].object
    kept, [evidence] = looking.at(name)
    assert [each.number for each in kept] == [1, 2]
    assert evidence == PastLines(name, 3, b"", mail.sizes()[name])
    assert told(mail, name)["lines"][0] | {"begins": ""} == {
        "offset": 0, "length": places[0].length, "reason": "Astray", "begins": "",
    }  # fmt: skip


def test_a_row_of_unknown_form_keeps_its_line(mail: Mail) -> None:
    [line] = lines_of(mail, 1)
    name = mail.deliver(THEN, line)
    mail.deployed.clients.dynamodb.put_item(
        TableName=mail.deployed.tables["PostTable"],
        Item={"pk": {"S": line.row.pk}, "sk": {"S": line.row.sk}, "st": {"S": "frozen"}},
    )
    looking = Looking(mail)
    assert looking.at(name) == ([], [PastLines(name, 1, b"", mail.sizes()[name])])
    assert looking.counts()["left.unknown"] == 1


def test_an_object_that_another_run_deleted_meanwhile_is_skipped(mail: Mail) -> None:
    [line] = lines_of(mail, 1)
    name = mail.deliver(THEN, line)
    looking = Looking(mail)
    kept, evidence = looking.at("seg/2026/11/18/09/gone.jsonl", name)
    assert ([each.row for each in kept], [each.source for each in evidence]) == ([line.row], [name])
    assert looking.counts()["objects.gone"] == 1


def test_rows_are_looked_up_by_the_hundred_across_objects(mail: Mail) -> None:
    names = [mail.deliver(THEN, *lines_of(mail, 25)) for _ in range(10)]
    looking = Looking(mail)
    kept, _ = looking.at(*names)
    assert len(kept) == 250
    assert looking.counts()["dynamodb.read"] == 3


def test_objects_read_together_are_reported_one_by_one(mail: Mail) -> None:
    one, other = lines_of(mail, 3), lines_of(mail, 2)
    names = [mail.deliver(THEN, *one), mail.deliver(THEN, *other)]
    mail.acknowledge(one[2].row)
    mail.acknowledge(other[0].row)
    kept, evidence = Looking(mail).at(*names)
    assert [(each.source, each.number) for each in kept] == [(names[0], 0), (names[0], 1), (names[1], 1)]
    assert [(each.source, each.lines, each.past) for each in evidence] == [
        (names[0], 3, bits([2])), (names[1], 2, bits([0])),
    ]  # fmt: skip


# --- chunks -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("acknowledged", "age", "move"),
    [(0, DAY_MS, False), (1, DAY_MS, False), (2, DAY_MS, True), (1, MONTH_MS, True), (0, MONTH_MS, True)],
)
def test_the_lines_of_a_chunk_stay_until_moving_them_pays(mail: Mail, acknowledged: int, age: int, move: bool) -> None:
    lines = lines_of(mail, 4, NOW - age)
    name = mail.chunk(NOW - age, *lines, src="seg/before")
    for line in lines[:acknowledged]:
        mail.acknowledge(line.row)
    looking = Looking(mail)
    kept, [evidence] = looking.at(name)
    waiting = 4 - acknowledged
    assert len(kept) == (waiting if move else 0)
    assert evidence.past == bits(range(acknowledged)), "what is past is known, whether the others move or not"
    counts = looking.counts()
    assert (counts["lines.kept"], counts["lines.stay"]) == ((waiting, 0) if move else (0, waiting))


def test_a_chunk_whose_rows_are_where_it_was_copied_from_stays(mail: Mail) -> None:
    """Whoever wrote it may sleep."""
    [line] = lines_of(mail, 1)
    segment = mail.deliver(THEN, line)
    [place] = mail.put("chk/2026/11/18/09/unmoved.jsonl", mail.copied(line, segment))
    looking = Looking(mail)
    assert looking.at(place.object) == ([], [PastLines(place.object, 1, b"", mail.sizes()[place.object])])
    assert looking.counts()["left.at source"] == 1


# --- what is damaged --------------------------------------------------------------------------------------------------

TORN, STRANGE = b'{"pk":"shop.com#0"', b'{"pk":7}'


def damaged_segment(mail: Mail) -> tuple[str, Line, list[Place]]:
    [line] = lines_of(mail, 1)
    places = mail.segment(THEN, TORN, line, STRANGE, b"x" * 20_000)
    mail.file(line, places[1])
    return places[0].object, line, places


def told(mail: Mail, name: str) -> dict[str, list[dict[str, object]]]:
    found: dict[str, list[dict[str, object]]] = json.loads(mail.deployed.objects()[quarantine_name(name)])
    return found


def test_damaged_lines_are_reported_with_their_beginnings_and_keep_their_object(mail: Mail) -> None:
    name, line, places = damaged_segment(mail)
    looking = Looking(mail)
    [kept], [evidence] = looking.at(name)
    assert (kept.row, kept.number) == (line.row, 1)
    assert (evidence.lines, evidence.past) == (4, b"")
    said = told(mail, name)
    assert (said["object"], said["count"]) == (name, 3)
    assert [(each["offset"], each["length"], each["reason"]) for each in said["lines"]] == [
        (places[0].offset, len(TORN), "NotJson"),
        (places[2].offset, len(STRANGE), "NotALine"),
        (places[3].offset, 20_000, "NotJson"),
    ]
    assert [b64decode(str(each["begins"])) for each in said["lines"]] == [TORN, STRANGE, b"x" * 8_192]
    counts = looking.counts()
    assert (counts["quarantined.NotJson"], counts["quarantined.NotALine"], counts["quarantined.objects"]) == (2, 1, 1)


def test_damage_is_reported_once(mail: Mail) -> None:
    name, line, _ = damaged_segment(mail)
    Looking(mail).at(name)
    before = mail.deployed.objects()
    mail.acknowledge(line.row)
    Looking(mail, now=NOW + DAY_MS).at(name)
    assert mail.deployed.objects() == before


def test_only_the_first_damaged_lines_are_shown(mail: Mail) -> None:
    [first, *_] = mail.segment(THEN, *[TORN] * (MOST_SHOWN + 50))
    Looking(mail).at(first.object)
    said = told(mail, first.object)
    assert (said["count"], len(said["lines"])) == (MOST_SHOWN + 50, MOST_SHOWN)


def test_a_dry_run_writes_nothing_and_counts_the_same(mail: Mail) -> None:
    name, *_ = damaged_segment(mail)
    before = mail.deployed.dump()
    dry = Looking(mail, dry_run=True)
    wet = Looking(mail)
    assert dry.at(name)
    assert mail.deployed.dump() == before
    wet.at(name)
    written = {"s3.put", "bytes.written"}
    assert dry.counts() == {name: count for name, count in wet.counts().items() if name not in written}
