"""A load test of the local stack: `python -m tests.burst` starts `postroom up` and sends a burst of messages.

Concurrent senders post to receiver.example over HTTPS. All messages must be accepted, and filed within the time limit,
and no function may run more processes than the local stack allows; otherwise the exit code is 1. The output has the
maximum number of processes of each function, the maximum memory of the stack, and the duration.
"""

import argparse
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import psutil

from postroom.cli.descriptor import read_descriptor
from postroom.cli.network import build_https, choose_network, open_resolvers
from postroom.client import SendOutcome, deliver
from postroom.core.errors import NotNowError
from postroom.crypto.rsa_ed25519 import PrivateKey
from postroom.demo.stack import RECEIVER, SENDER, SUBJECT
from postroom.local.account import LocalAccount
from postroom.local.clients import Clients
from postroom.local.emulator import Processes
from postroom.protocols.nlweb.schema import NLWEB
from postroom.protocols.nlweb.sign import Draft, sign, write
from postroom.storage.layout import partition
from postroom.storage.mail.register import LIVE

_LOOK_SECONDS: Final = 0.2
_PAUSE_SECONDS: Final = 0.5
_WORKER: Final = re.compile(r"ministack-lambda-(.+)-\w{8}/_worker\.py")


def function_processes(root: psutil.Process) -> dict[int, str]:
    """The descendants of `root` in which functions run: pid, and the name of the function."""
    found = {}
    for process in root.children(recursive=True):
        with suppress(psutil.Error):  # it has ended since it was listed
            if match := _WORKER.search(" ".join(process.cmdline())):
                found[process.pid] = match[1]
    return found


class Watch:
    """Polls the descendants of `root`, and keeps the maxima."""

    def __init__(self, root: psutil.Process) -> None:
        self.processes: Counter[str] = Counter()
        """Of each function."""
        self.together = self.bytes = 0
        self._root = root
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look)

    def __enter__(self) -> "Watch":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._over.wait(_LOOK_SECONDS):
            functions = Counter(function_processes(self._root).values())
            self.processes |= functions
            self.together = max(self.together, functions.total())
            self.bytes = max(self.bytes, sum(map(_resident, [self._root, *self._root.children(recursive=True)])))


def _resident(process: psutil.Process) -> int:
    try:
        return int(process.memory_info().rss)
    except psutil.Error:
        return 0


class Burst:
    """A burst of messages to a running stack, and their outcomes. `state`: the folder of its `local.json` and keys."""

    def __init__(self, state: Path, seconds: float) -> None:
        self._end = time.monotonic() + seconds
        self.descriptor = read_descriptor(state)
        self._network = choose_network(state)
        self._key = PrivateKey.from_pem((state / "keys" / f"{SENDER}.pem").read_bytes())
        receiver = self.descriptor.deployments["receiver"]
        self._outputs, self._client = receiver.outputs, self._clients(receiver.account)

    def _clients(self, account: str) -> Clients:
        return Clients(LocalAccount(self.descriptor.endpoint, account, self.descriptor.secret))

    def send(self, messages: int) -> Counter[str]:
        """Post messages one after the other, each until it is accepted or refused. Returns the count of each answer."""
        answers: Counter[str] = Counter()
        with open_resolvers(self._network) as resolvers:
            https = build_https(self._network, resolvers)
            for _ in range(messages):
                message, fate = self._message(), SendOutcome.NOT_NOW
                while fate is SendOutcome.NOT_NOW and not self.is_over:
                    try:
                        sent = deliver(https, NLWEB.inbox_url(RECEIVER), message)
                    except NotNowError:
                        answers["no answer"] += 1
                    else:
                        fate = sent.fate
                        answers[f"{sent.status} {sent.reason}".rstrip()] += 1
                    if fate is SendOutcome.NOT_NOW:
                        time.sleep(_PAUSE_SECONDS)
        return answers

    @property
    def is_over(self) -> bool:
        """Whether its time is."""
        return time.monotonic() > self._end

    def filed(self) -> int:
        """The number of messages in the mailbox."""
        pages = (
            self._client("dynamodb")
            .get_paginator("query")
            .paginate(
                TableName=self._outputs["PostTable"],
                KeyConditionExpression="pk = :pk",
                FilterExpression="st = :live",
                ExpressionAttributeValues={":pk": {"S": partition(RECEIVER, 0)}, ":live": {"S": LIVE}},
                Select="COUNT",
            )
        )
        return sum(page["Count"] for page in pages)

    def queued(self) -> int:
        """The number of messages in the worker's queues, including invisible ones."""
        return sum(
            messages_in(self._client, self._outputs[name])
            for name in ("ClaimsQueueUrl", "RetryQueueUrl", "DeadLetterQueueUrl")
        )

    def fed_by_queues(self) -> set[str]:
        """The names of the functions that queues invoke, in all deployments."""
        return {
            mapping["FunctionArn"].split(":")[6]
            for each in self.descriptor.deployments.values()
            for mapping in self._clients(each.account)("lambda").list_event_source_mappings()["EventSourceMappings"]
        }

    def _message(self) -> bytes:
        draft = Draft(
            sender=SENDER,
            receiver=RECEIVER,
            subject=SUBJECT,
            correlation=str(uuid.uuid4()),
            timestamp_ms=int(time.time() * 1000),
            body={"Text": "one of many"},
            selector="pk1",
        )
        return write(sign(draft, self._key))


def messages_in(client: Clients, queue_url: str) -> int:
    """The number of messages in a queue, including delayed and invisible ones."""
    names = (
        "ApproximateNumberOfMessages", "ApproximateNumberOfMessagesDelayed", "ApproximateNumberOfMessagesNotVisible",
    )  # fmt: skip
    found = client("sqs").get_queue_attributes(QueueUrl=queue_url, AttributeNames=["All"])["Attributes"]
    return sum(int(found[name]) for name in names)


@contextmanager
def running(state: Path) -> Iterator[psutil.Process]:
    """`postroom up`, when it is ready. Raises SystemExit, never with code 0, if it ends by itself."""
    command = [Path(sys.executable).with_name("postroom"), "up", "--state", state]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        if not any(line.startswith("Ctrl-C") for line in process.stdout):
            raise SystemExit(process.wait() or 1)
        try:
            yield psutil.Process(process.pid)
            if process.poll() is not None:
                raise SystemExit("postroom up ended by itself")
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate()


def too_many(most: Counter[str], fed_by_queues: Iterable[str], allowed: Processes) -> list[str]:
    """The functions that had more processes than they may have."""
    return [name for name, many in most.items() if many > (allowed.queue if name in fed_by_queues else allowed.http)]


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.burst", description="Send a burst of messages to the local stack."
    )
    parser.add_argument("--messages", type=int, default=400, help="the number of messages; default: %(default)s")
    parser.add_argument("--senders", type=int, default=6, help="the number of concurrent senders; default: %(default)s")
    parser.add_argument(
        "--seconds", type=float, default=180, help="the time in which all must be filed; default: %(default)s"
    )
    said = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="postroom-burst-") as folder, running(Path(folder)) as stack:
        burst = Burst(Path(folder), said.seconds)
        shares = [len(range(sender, said.messages, said.senders)) for sender in range(said.senders)]
        with Watch(stack) as most, ThreadPoolExecutor(said.senders) as pool:
            started = time.monotonic()
            answers = sum(pool.map(burst.send, shares), Counter())
            answered = time.monotonic() - started
            while (burst.filed() < said.messages or burst.queued()) and not burst.is_over:
                time.sleep(_LOOK_SECONDS)
            ended = time.monotonic() - started
        filed, queued, allowed = burst.filed(), burst.queued(), Processes()
        wrong = too_many(most.processes, burst.fed_by_queues(), allowed)
    print(f"sent: {said.messages} messages by {said.senders} senders in {answered:.0f} s; {dict(answers)}")
    print(f"filed: {filed}; in the worker's queues: {queued}; after {ended:.0f} s")
    print(f"maximum: {most.together} processes of functions, {most.bytes / 1e9:.1f} GB of memory for the whole stack")
    for name, many in most.processes.most_common():
        print(f"  {many:3} {name}{' (more than allowed)' if name in wrong else ''}")
    print(f"allowed: {allowed.queue} of a function that a queue feeds, {allowed.http} of any other")
    raise SystemExit(bool(wrong) or filed < said.messages or queued > 0)


if __name__ == "__main__":
    main()
