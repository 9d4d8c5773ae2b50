"""The rules of a mailbox with the real handlers over a store in memory; tests/end_to_end plays them over HTTPS."""

from contextlib import ExitStack
from functools import cache

from hypothesis import settings
from tests.aws import deployment, new_clients
from tests.http.api_stack import ApiStack
from tests.http.machine import MailboxMachine
from tests.tiers import amount

_clients = cache(new_clients)


class Mailbox(MailboxMachine):
    def __init__(self) -> None:
        self._aws = ExitStack()
        super().__init__(ApiStack(self._aws.enter_context(deployment(_clients()))))

    def teardown(self) -> None:
        self._aws.close()


Mailbox.TestCase.settings = settings(
    max_examples=amount(quick=2, all=7, proof=200), stateful_step_count=amount(quick=20, all=25, proof=25)
)
TestMailbox = Mailbox.TestCase
