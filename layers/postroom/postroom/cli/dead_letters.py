"""`postroom dead-letters`: messages of our queues that no function could process.

Reading hides a dead letter from others for a moment, and changes nothing else. It leaves its queue only after it was
sent elsewhere, or decided.
"""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final

import typer

from postroom.cli.deployment import DeploymentOptions
from postroom.cli.exits import NotFoundFault, UsageFault
from postroom.cli.inputs import AsJson
from postroom.cli.open_deployment import OpenDeployment
from postroom.cli.options import CommandTyper, OptionGroup
from postroom.cli.output import note, print_json, print_list
from postroom.cli.terminal import print_line
from postroom.core.ijson import JsonValue

if TYPE_CHECKING:
    from postroom.pipeline.operators_dead_letters import ReadDeadLetter
    from postroom.storage.aws.dead_letter_queue import DeadLetterQueue, HeldDeadLetter

app = CommandTyper(
    help="See, redrive or discard what could not be processed.",
    no_args_is_help=True,
)

OF_CLAIMS: Final = "DeadLetterQueue"
SOURCES: Final[Mapping[str, Sequence[str]]] = {
    OF_CLAIMS: ("ClaimsQueue", "RetryQueue", "SuspectsQueue", "LookUpsQueue", "WaitingQueue"),
    "CourierDeadLetterQueue": ("CourierQueue", "FeedbackQueue"),
}
"""Each dead-letter queue, and the queues whose messages it gets, by their names in the template."""
_QUEUES: Final = {
    queue.removesuffix("Queue").lower(): queue for sources in SOURCES.values() for queue in sources
}  # fmt: skip


def _read_queue(name: str | None) -> str | None:
    """The queue that is named. Raises BadParameter."""
    if name is None or name.lower() in _QUEUES:
        return _QUEUES[name.lower()] if name else None
    raise typer.BadParameter(f"{name!r} is none of {', '.join(_QUEUES)}")


FromQueue = Annotated[
    str | None,
    typer.Option(
        "--queue", metavar="|".join(_QUEUES), help="Only those of this queue.", callback=_read_queue, show_default="all"
    ),
]
Ids = Annotated[list[str] | None, typer.Argument(metavar="[ID]…", help="The ids, as `dead-letters list` shows them.")]


@dataclass(frozen=True, kw_only=True)
class ChosenDeadLetters(OptionGroup):
    """Which dead letters a command is for: some by their ids, or all, perhaps only of one queue."""

    ids: Ids = None
    every: Annotated[bool, typer.Option("--all", help="All of them.")] = False
    queue: FromQueue = None

    def check(self) -> None:
        """Raises UsageFault unless either ids or --all are given."""
        if bool(self.ids) == self.every:
            raise UsageFault("name dead letters by their ids, or all of them with --all")

    def fits(self, dead_letter: "OpenedDeadLetter") -> bool:
        """Whether a dead letter is one of those."""
        return dead_letter.is_of(self.queue) and (self.every or dead_letter.held.id in (self.ids or ()))


@dataclass(frozen=True, slots=True)
class OpenedDeadLetter:
    """A dead letter in its queue. `queue`: the one that it came from, and goes back to; empty: unknown."""

    kept_in: "DeadLetterQueue"
    held: "HeldDeadLetter"
    read: "ReadDeadLetter"
    queue: str

    def is_of(self, queue: str | None) -> bool:
        """Whether it came from this queue; None: from any."""
        return queue in (None, self.queue)

    @property
    def since(self) -> str:
        """When its message began its way, in UTC."""
        from postroom.core.timestamps import write_timestamp

        return write_timestamp(self.read.since_ms(self.held.sent_at_ms))

    def describe(self) -> dict[str, JsonValue]:
        """It in a list, for programs."""
        return {
            "id": self.held.id,
            "queue": self.queue or None,
            "kind": self.read.kind,
            "since": self.since,
            "about": self.read.about,
        }


@app.command("list")
def list_dead_letters(queue: FromQueue = None, *, deployment: DeploymentOptions, as_json: AsJson = False) -> None:
    """List the dead letters: how many, since when, and of which kind.

    A claim is a message that was accepted, and is not judged yet: the dead-letter handler discards it when it is about
    six days old, and its sender gets Feedback. An outgoing message is given up after a day. SQS deletes others after 14
    days.
    """
    opened = deployment.open()
    with _held_dead_letters(opened) as dead_letters:
        found = sorted((it for it in dead_letters if it.is_of(queue)), key=lambda it: it.since)
    rows = [(it.queue or "?", it.read.kind, it.since, it.read.about, it.held.id) for it in found]
    if found or as_json:
        print_list(
            as_json, [it.describe() for it in found], ("queue", "kind", "since (UTC)", "about", "id"), rows
        )  # fmt: skip
    if not as_json:
        for name in _QUEUES.values():
            of_it = [it for it in found if it.queue == name]
            if of_it:
                print_line(f"{name}: {len(of_it)}, the oldest since {of_it[0].since}")
        if not found:
            print_line("there are no dead letters")
    _note_hidden(opened)


@app.command("show")
def show(
    dead_letter: Annotated[str, typer.Argument(metavar="ID", help="Its id, as `dead-letters list` shows it.")],
    deployment: DeploymentOptions,
    as_json: AsJson = False,
) -> None:
    """Show one dead letter, with the message in it."""
    opened = deployment.open()
    with _held_dead_letters(opened) as dead_letters:
        found = next((it for it in dead_letters if it.held.id == dead_letter), None)
    if found is None:
        raise _unknown(opened, [dead_letter])
    complete = opened.deployment.pipeline.operators_dead_letters.with_envelope(found.read)
    members = {**found.describe(), **complete.members}
    if complete.content is None:
        members["body"] = found.held.body
    if as_json:
        print_json(members)
        return
    for name, value in members.items():
        if value not in (None, ""):
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            print_line(f"{name:<14}{text}")


@app.command("redrive")
def redrive(chosen: ChosenDeadLetters, deployment: DeploymentOptions, as_json: AsJson = False) -> None:
    """Send dead letters back to the queues that they came from.

    Each is sent before it is deleted here: nothing is lost if this is interrupted, and a message that is processed
    twice has the same result. Fix the cause first: `postroom admin status` shows where to look.
    """
    from postroom.storage.aws.queue import Queue

    chosen.check()
    opened = deployment.open()
    done: list[JsonValue] = []
    for dead_letter in _each(opened, chosen):
        if not dead_letter.queue:
            note(f"{dead_letter.held.id} cannot be read, and SQS does not say where it came from: it stays")
            continue
        Queue(opened.storage.sqs, opened.output(f"{dead_letter.queue}Url")).send(
            dead_letter.held.body, group=dead_letter.held.group
        )
        dead_letter.kept_in.delete(dead_letter.held)
        done.append({**dead_letter.describe(), "redriven": True})
        if not as_json:
            print_line(f"{dead_letter.held.id}: back in {dead_letter.queue} ({dead_letter.read.about})")
    _finish(opened, chosen, done, as_json=as_json, what="redriven")


@app.command("discard")
def discard(
    chosen: ChosenDeadLetters,
    yes: Annotated[bool, typer.Option("--yes", help="With --all: do not ask.")] = False,
    *,
    deployment: DeploymentOptions,
    as_json: AsJson = False,
) -> None:
    """Discard dead letters, and print what is lost.

    An accepted message does not just disappear: it gets the verdict Undeliverable, and its sender gets Feedback if it
    asked for it. A message of an owner's outbox is given up there. If a message was stored before, it stays.
    """
    chosen.check()
    opened = deployment.open()
    if chosen.every and not yes:
        _confirm(opened, chosen)
    done: list[JsonValue] = []
    for dead_letter in _each(opened, chosen):
        lost = opened.deployment.pipeline.operators_dead_letters.discard(dead_letter.read)
        dead_letter.kept_in.delete(dead_letter.held)
        done.append({**dead_letter.describe(), "lost": lost})
        if not as_json:
            print_line(f"{dead_letter.held.id}: {dead_letter.read.about}: {lost}")
    _finish(opened, chosen, done, as_json=as_json, what="discarded")


def _confirm(opened: OpenDeployment, chosen: ChosenDeadLetters) -> None:
    """Ask before all of them are discarded. Raises UsageFault if nobody can be asked, Abort."""
    if not sys.stdin.isatty():
        raise UsageFault("--all discards every dead letter: confirm it with --yes")
    with _held_dead_letters(opened) as dead_letters:
        count = sum(map(chosen.fits, dead_letters))
    typer.confirm(f"discard {count} dead letters?", abort=True)


def _each(opened: OpenDeployment, chosen: ChosenDeadLetters) -> Iterator[OpenedDeadLetter]:
    """The chosen dead letters, one after the other."""
    with _held_dead_letters(opened) as dead_letters:
        yield from filter(chosen.fits, dead_letters)


@contextmanager
def _held_dead_letters(opened: OpenDeployment) -> Iterator[Iterator[OpenedDeadLetter]]:
    """All dead letters that nobody else reads at the moment. At the end, they are visible to others again."""
    from postroom.core.errors import NotNowError
    from postroom.storage.aws.dead_letter_queue import DeadLetterQueue

    queues = {name: DeadLetterQueue(opened.storage.sqs, opened.output(f"{name}Url")) for name in SOURCES}
    held: dict[str, list[HeldDeadLetter]] = {name: [] for name in SOURCES}

    def read() -> Iterator[OpenedDeadLetter]:
        for name, queue in queues.items():
            for each in queue.read():
                held[name].append(each)
                yield _open(opened, name, queue, each)

    try:
        yield read()
    finally:
        for name, queue in queues.items():
            try:
                queue.release(held[name])
            except NotNowError as error:
                note(f"dead letters of {name} stay hidden for two minutes: {error}")


def _open(opened: OpenDeployment, name: str, queue: "DeadLetterQueue", held: "HeldDeadLetter") -> OpenedDeadLetter:
    read = opened.deployment.pipeline.operators_dead_letters.read(held.body, of_claims=name == OF_CLAIMS)
    names = {opened.output(f"{each}Url").rpartition("/")[2]: each for each in SOURCES[name]}
    return OpenedDeadLetter(queue, held, read, names.get(held.source) or read.queue)


def _finish(
    opened: OpenDeployment, chosen: ChosenDeadLetters, done: list[JsonValue], *, as_json: bool, what: str
) -> None:
    if as_json:
        print_json(done)
    elif not done:
        print_line(f"nothing was {what}")
    ids = {it["id"] for it in done if isinstance(it, dict)}
    missing = [each for each in dict.fromkeys(chosen.ids or ()) if each not in ids]
    if missing:
        raise _unknown(opened, missing)
    _note_hidden(opened)


def _unknown(opened: OpenDeployment, ids: Sequence[str]) -> NotFoundFault:
    hidden = "; some are being read by others: try again in five minutes" if _hidden(opened) else ""
    return NotFoundFault(
        f"there is no dead letter {', '.join(ids)}{hidden}", hint="`postroom dead-letters list` shows all"
    )


def _note_hidden(opened: OpenDeployment) -> None:
    hidden = _hidden(opened)
    if hidden:
        note(f"{hidden} more are being read by others, such as the dead-letter handler: try again in five minutes")


def _hidden(opened: OpenDeployment) -> int:
    from postroom.storage.aws.dead_letter_queue import DeadLetterQueue

    return sum(DeadLetterQueue(opened.storage.sqs, opened.output(f"{name}Url")).count().hidden for name in SOURCES)
