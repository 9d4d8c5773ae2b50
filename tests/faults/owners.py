"""The owners of mailboxes in the fault tests, who read and acknowledge messages."""

from collections.abc import Iterator
from dataclasses import dataclass

import boto3
from tests.aws import Deployed
from tests.faults.clock import CLOCK
from tests.faults.messages import who_is
from tests.functions.samples import BOB, RECEIVER

from postroom.runtime.deployment import Deployment
from postroom.storage.mail.reader import Reader
from postroom.storage.mail.register import Register, Row

RETAIN_SECONDS = 22 * 86_400


@dataclass(frozen=True)
class Owners:
    """The owners of all mailboxes, with one set of clients."""

    register: Register
    reader: Reader

    @staticmethod
    def at_home(deployed: Deployed) -> "Owners":
        """Owners with new clients with boto3's defaults, as in a process of their own."""
        return Owners._of(deployed.parts(boto3.client))

    @staticmethod
    def watched(deployed: Deployed) -> "Owners":
        """Owners with the clients of the tests, which get no faults."""
        return Owners._of(deployed.parts())

    @staticmethod
    def _of(deployment: Deployment) -> "Owners":
        return Owners(deployment.storage.register, deployment.storage.reader)

    def shown(self) -> list[tuple[Row, str]]:
        """The messages that they can read, by row. Raises NotNowError; OurError for a row without bytes."""
        shown: list[tuple[Row, str]] = []
        for mailbox in (RECEIVER, BOB):
            rows = list(self.reader.list(mailbox, 1, now=int(CLOCK())))
            filed = self.reader.fetch_all(rows)
            assert [each.line.row for each in filed] == [row.key for row in rows], "rows point at lines of others"
            shown += [(each.row, who_is(each.line.envelope)) for each in filed]
        return shown

    def acknowledge_all(self) -> Iterator[str]:
        """Acknowledge all messages; yields each when it is known to be gone. Raises NotNowError."""
        for row, who in self.shown():
            assert self.register.acknowledge(row.key, int(CLOCK()) + RETAIN_SECONDS) is not None, (
                f"{row.key} was shown, and is not"
            )
            yield who
