"""Variants of compaction with one fault each, of the kind that the tests of its kills are there to find."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from tests.aws import Clients
from tests.jobs import test_kills as plays

from postroom.core.errors import OurError
from postroom.jobs import survey
from postroom.jobs.moving import Mover
from postroom.jobs.past_lines import PastLines
from postroom.jobs.registers import Registers
from postroom.storage.aws.attributes import primary_key
from postroom.storage.aws.object_store import Place
from postroom.storage.layout import RowKey
from postroom.storage.mail.chunks import ChunkLine
from postroom.storage.mail.line_state import LineState, line_state_of

Play = Callable[[Clients, list[Clients]], None]
LOST = r"is live, and cannot be read where it lies"
SHOWN = r"each owner sees what waits, and no more"
LEFT = r"what is left is what is needed"


def repoints_whatever_the_row_points_to(patch: pytest.MonkeyPatch) -> None:
    """Without `o = :src`: who sleeps moves rows back to what was collected meanwhile."""

    def repoint(self: Any, key: RowKey, _source: str, place: Place) -> bool:
        self._table.update(
            primary_key(key.pk, key.sk),
            "SET o = :o, off = :off, len = :len",
            {
                ":o": {"S": place.object}, ":off": {"N": str(place.offset)}, ":len": {"N": str(place.length)},
                ":live": {"S": "L"},
            },
            "st = :live",
        )  # fmt: skip
        return True

    patch.setattr(Registers, "repoint", repoint)


def repoints_whatever_became_of_the_row(patch: pytest.MonkeyPatch) -> None:
    """Without any condition: what was acknowledged meanwhile is live again."""

    def repoint(self: Any, key: RowKey, _source: str, place: Place) -> bool:
        self._table.update(
            primary_key(key.pk, key.sk),
            "SET st = :live, o = :o, off = :off, len = :len, c = :c",
            {
                ":live": {"S": "L"}, ":c": {"S": "a.com"},
                ":o": {"S": place.object}, ":off": {"N": str(place.offset)}, ":len": {"N": str(place.length)},
            },
        )  # fmt: skip
        return True

    patch.setattr(Registers, "repoint", repoint)


def takes_absent_rows_for_past(patch: pytest.MonkeyPatch) -> None:
    """On incomplete evidence: a line whose claim still waits in a queue is collected under its worker's hands."""
    patch.setattr(
        survey,
        "line_state_of",
        lambda copy, row, **times: line_state_of(copy, row, **times) if row else LineState.FORGOTTEN,
    )


def takes_what_is_written_for_moved(patch: pytest.MonkeyPatch) -> None:
    """A source is deleted before its rows are repointed."""
    really = Mover._repoint

    def repoint(self: Any, chunk: Sequence[ChunkLine], places: Sequence[Place]) -> Iterator[PastLines]:
        self.bucket.delete_all(sorted({line.source for line in chunk}))
        yield from really(self, chunk, places)

    patch.setattr(Mover, "_repoint", repoint)


def takes_what_lies_elsewhere_for_moving(patch: pytest.MonkeyPatch) -> None:
    """A line that its row has left is never past: what dead runs wrote stays for ever."""

    def never_moved(copy: Any, row: Any, **times: int) -> LineState:
        stand = line_state_of(copy, row, **times)
        return LineState.AT_SOURCE if stand is LineState.MOVED else stand

    patch.setattr(survey, "line_state_of", never_moved)


def dies(ours: Clients, victims: list[Clients]) -> None:
    plays.test_later_runs_complete_what_a_dead_run_began(ours, victims, turn=list)


def sleeps(ours: Clients, victims: list[Clients]) -> None:
    plays.test_a_run_that_sleeps_for_days_before_any_write_does_no_harm(ours, victims, turn=list)


LOOKS: Play = plays.test_an_owner_sees_the_same_sequence_throughout


FOUND: dict[Callable[[pytest.MonkeyPatch], None], tuple[Play, str]] = {
    repoints_whatever_the_row_points_to: (sleeps, LOST),
    repoints_whatever_became_of_the_row: (sleeps, SHOWN),
    takes_absent_rows_for_past: (dies, LOST),
    takes_what_is_written_for_moved: (LOOKS, LOST),
    takes_what_lies_elsewhere_for_moving: (dies, LEFT),
}


@pytest.mark.parametrize("breaks", FOUND, ids=lambda breaks: breaks.__name__)
def test_broken_variants_are_found(
    ours: Clients,
    victims: list[Clients],
    monkeypatch: pytest.MonkeyPatch,
    breaks: Callable[[pytest.MonkeyPatch], None],
) -> None:
    play, finds = FOUND[breaks]
    breaks(monkeypatch)
    with pytest.raises((AssertionError, OurError), match=finds):
        play(ours, victims)
