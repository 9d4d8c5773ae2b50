"""The owners of mailboxes: what they are shown, and what they acknowledge."""

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
    """The owners of all mailboxes, at one client."""

    register: Register
    reader: Reader

    @staticmethod
    def at_home(deployed: Deployed) -> "Owners":
        """With clients of their own, as a process of theirs makes them: boto3's defaults."""
        return Owners._of(deployed.parts(boto3.client))

    @staticmethod
    def watched(deployed: Deployed) -> "Owners":
        """With the clients of the tests, which no fault befalls."""
        return Owners._of(deployed.parts())

    @staticmethod
    def _of(deployment: Deployment) -> "Owners":
        return Owners(deployment.storage.register, deployment.storage.reader)

    def shown(self) -> list[tuple[Row, str]]:
        """What they are shown, and which message each row is. Raises NotNowError; OurError for a row without bytes."""
        shown: list[tuple[Row, str]] = []
        for mailbox in (RECEIVER, BOB):
            rows = list(self.reader.list(mailbox, 1, now=int(CLOCK())))
            filed = self.reader.fetch_all(rows)
            assert [each.line.row for each in filed] == [row.key for row in rows], "rows point at lines of others"
            shown += [(each.row, who_is(each.line.envelope)) for each in filed]
        return shown

    def acknowledge_all(self) -> Iterator[str]:
        """Acknowledge what they are shown: each message, once it is known to be gone. Raises NotNowError."""
        for row, who in self.shown():
            assert self.register.acknowledge(row.key, int(CLOCK()) + RETAIN_SECONDS) is not None, (
                f"{row.key} was shown, and is not"
            )
            yield who
