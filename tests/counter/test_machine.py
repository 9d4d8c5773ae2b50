"""The rules of a mailbox, played at the real desk over a store in memory; tests/end_to_end plays them over HTTPS."""

from contextlib import ExitStack
from functools import cache

from hypothesis import settings
from tests.aws import deployment, new_clients
from tests.counter.counter import Counter
from tests.counter.machine import MailboxMachine

_clients = cache(new_clients)


class Mailbox(MailboxMachine):
    def __init__(self) -> None:
        self._aws = ExitStack()
        super().__init__(Counter(self._aws.enter_context(deployment(_clients()))))

    def teardown(self) -> None:
        self._aws.close()


Mailbox.TestCase.settings = settings(max_examples=20, stateful_step_count=25, deadline=None)
TestMailbox = Mailbox.TestCase
