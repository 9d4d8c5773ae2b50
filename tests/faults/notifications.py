"""The flow of notifications: an owner has two notification targets, one of which answers 503 at first."""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from tests.faults.clock import CLOCK
from tests.faults.fake_internet import BUFFERS, BUSY, SENDER
from tests.faults.flows import Flow, Run
from tests.faults.judge import Judge
from tests.faults.owners import Owners
from tests.faults.queues import Queues, event_of
from tests.faults.stack import FaultStack, Json
from tests.functions.samples import RECEIVER, SOCKET_HOST

from postroom.api.states import TargetState
from postroom.protocols.nlweb.schema import NLWEB
from postroom.storage.directory.notification_targets import NotificationTargets, TargetKind

_TOLD = (BUFFERS[SENDER], BUFFERS[BUSY])
"""The domains of the targets."""
_INTERVAL_SECONDS = 61
"""A second more than NotifyIntervalSeconds, when the postponed notification is due."""


@dataclass(frozen=True)
class NotificationFlow(Flow):
    """The victim is the worker, which queues a notification; or the courier, after `turns` earlier runs.

    `meanwhile`: another message arrives before the run of the victim, which notifies of that one. `at_the_end`: the
    victim processes the postponed notification at the end of the interval.
    """

    turns: int = 0
    meanwhile: bool = False
    at_the_end: bool = False
    busy: int = 503
    """The status of the busy target during the run of the victim."""

    def prepare(self, stack: FaultStack) -> Run:
        """Add the targets, and do the earlier runs."""
        self._add_targets(stack)
        run = super().prepare(stack)
        queues = Queues(stack, run.copies)
        for _ in range(self.turns):
            queues.finish(self.queue, run.batch, stack.call(self.function, event_of(self.queue, run.batch)))
            run.batch = queues.receive(self.queue)
            queues.release(self.queue, run.batch)
        if self.meanwhile:
            messages = self.make()
            run.messages += messages
            assert all(stack.call(message.inbox, message.posted())["statusCode"] == 200 for message in messages)
            claims = queues.receive("ClaimsQueue")
            queues.finish("ClaimsQueue", claims, stack.call("WorkerFunction", event_of("ClaimsQueue", claims)))
            run.batch = self._calls(queues)
        if self.at_the_end:
            queues.finish(self.queue, run.batch, stack.call(self.function, event_of(self.queue, run.batch)))
            run.batch = self._calls(queues)
            run.ahead = CLOCK.ahead = _INTERVAL_SECONDS
        stack.internet.buffers({BUSY: self.busy, SOCKET_HOST: self.busy})
        return run

    def _add_targets(self, stack: FaultStack) -> None:
        """Add and verify the targets."""
        targets = _targets(stack)
        for number, domain in enumerate(_TOLD):
            target = targets.add(RECEIVER, TargetKind.WEBHOOK, _url(domain), random_id=f"{number:032x}", now_ms=0)
            assert target is not None
            targets.verify(target)

    def _calls(self, queues: Queues) -> list[Json]:
        """The notifications in the queue that are not yet for a single target."""
        received = queues.receive(self.queue)
        queues.release(self.queue, received)
        return [each for each in received if "waiting" in json.loads(each["Body"])]

    def settle(self, stack: FaultStack, run: Run, answers: list[Json]) -> list[str]:
        """Process everything; then deliver late copies."""
        CLOCK.ahead = run.ahead
        queues = Queues(stack, run.copies)
        if answers:
            queues.finish(self.queue, run.batch, answers[0])
        self._rest(stack, queues)
        faults = list(_faults(stack, run))
        queues.hand_out_copies()
        self._rest(stack, queues)
        faults += [*_faults(stack, run), *Judge(stack, queues).faults_of_queues()]
        self.leave(stack)
        if faults:
            stack.purge()
        return list(dict.fromkeys(faults))

    def leave(self, stack: FaultStack) -> None:
        """Remove the targets, because other flows have none."""
        forget_targets(stack)


def forget_targets(stack: FaultStack) -> None:
    """Remove all targets, and what is known of when they were notified."""
    for row in stack.deployed.rows("DirectoryTable"):
        if row["pk"]["S"].startswith("notify#"):
            key = {name: row[name] for name in ("pk", "sk")}
            stack.deployed.clients.dynamodb.delete_item(TableName=stack.deployed.tables["DirectoryTable"], Key=key)


def _faults(stack: FaultStack, run: Run) -> Iterator[str]:
    """The problems: each message is shown once; each target is notified after the last one, without its content."""
    shown = Counter(who for _, who in Owners.watched(stack.deployed).shown())
    if shown != Counter(message.who for message in run.messages):
        yield f"of {len(run.messages)} messages these are shown: {shown}"
    notified = Counter(stack.internet.taken())
    paused = {each.to for each in _targets(stack).of(RECEIVER) if each.state is TargetState.PAUSED}
    for domain in _TOLD:
        if notified[domain] < len(run.messages) and _url(domain) not in paused:
            yield f"{domain} was told {notified[domain]} times of {len(run.messages)} messages"
    for posted in map(json.loads, stack.internet.posted()):
        if (posted.get("type"), posted.get("data")) != ("postroom.waiting", {"mailbox": RECEIVER}):
            yield f"a target was told {posted}"
    for target in _targets(stack).of(RECEIVER):
        if target.to in paused and notified[BUFFERS[BUSY]] == 0 and target.to == _url(BUFFERS[BUSY]):
            continue  # it answered 410
        if (target.state, target.failing_since_ms, target.retry) != (TargetState.ACTIVE, 0, None):
            yield f"a target that took everything stands as {target}"


def _url(domain: str) -> str:
    return f"https://{NLWEB.host(domain)}/hook"


def _targets(stack: FaultStack) -> NotificationTargets:
    return stack.deployed.storage.targets
