"""The usage of mailboxes with a quota: reduced by acknowledgements, corrected when a whole mailbox was read."""

import logging
from collections.abc import Sequence
from typing import Final

from postroom.core.errors import NotNowError
from postroom.storage.directory.domains import Directory
from postroom.storage.limits.quotas import Quota, Usage, Usages

_log: Final = logging.getLogger(__name__)


class UsageTracker:
    """Counts usage.

    `quota`: the deployment's. A usage that cannot be written now is corrected by the next full read.
    """

    def __init__(self, directory: Directory, usages: Usages, quota: Quota) -> None:
        self._directory = directory
        self._usages = usages
        self._quota = quota

    def quota(self, mailbox: str) -> Quota:
        """The quota of the mailbox. Raises NotNowError(STORE_UNAVAILABLE)."""
        return self._quota.of(self._directory.mailbox(mailbox))

    def begin(self, mailbox: str) -> Usage | None:
        """The usage, before the whole mailbox is read; None: it has no quota, and is not counted.

        Raises NotNowError(STORE_UNAVAILABLE).
        """
        return self._usages.read(mailbox) if self.quota(mailbox).bounded else None

    def end(self, mailbox: str, begun: Usage | None, messages: int, size: int) -> None:
        """Correct the usage to what was read. If messages were filed or acknowledged meanwhile, it is not changed."""
        if begun is None:
            return
        try:
            self._usages.correct(mailbox, begun, messages, size)
        except NotNowError:
            _log.warning("the usage of %s was not put right", mailbox)

    def gone(self, mailbox: str, sizes: Sequence[int]) -> None:
        """Subtract acknowledged messages of these sizes."""
        if not sizes or not self.quota(mailbox).bounded:
            return
        try:
            self._usages.add(mailbox, -len(sizes), -sum(sizes))
        except NotNowError:
            _log.warning("%s messages were not taken off the usage of %s", len(sizes), mailbox)
