"""The rules of a mailbox, played at the real desk over a store in memory; tests/end_to_end plays them over HTTPS."""

from hypothesis import settings
from moto import mock_aws
from tests.aws import deploy, new_clients
from tests.counter.counter import Counter
from tests.counter.machine import MailboxMachine


class Mailbox(MailboxMachine):
    def __init__(self) -> None:
        self._aws = mock_aws()
        self._aws.start()
        super().__init__(Counter(deploy(new_clients())))

    def teardown(self) -> None:
        self._aws.stop()


Mailbox.TestCase.settings = settings(max_examples=20, stateful_step_count=25, deadline=None)
TestMailbox = Mailbox.TestCase
