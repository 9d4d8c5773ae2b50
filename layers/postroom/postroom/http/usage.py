"""The usage of mailboxes with a quota: reduced by acknowledgements, corrected when all of it was read."""

import logging
from collections.abc import Sequence
from typing import Final

from postroom.core.errors import NotNowError
from postroom.storage.directory.domains import Directory
from postroom.storage.limits.quotas import Quota, Usage, Usages

_log: Final = logging.getLogger(__name__)


class Counting:
    """`quota`: the deployment's. Of a usage that cannot be written now nothing is said: the next look mends it."""

    def __init__(self, directory: Directory, usages: Usages, quota: Quota) -> None:
        self._directory = directory
        self._usages = usages
        self._quota = quota

    def quota(self, mailbox: str) -> Quota:
        """How much the mailbox may hold. Raises NotNowError(STORE_UNAVAILABLE)."""
        return self._quota.of(self._directory.mailbox(mailbox))

    def begin(self, mailbox: str) -> Usage | None:
        """The usage, before somebody looks at the whole mailbox; None: it has no quota, and is not counted.

        Raises NotNowError(STORE_UNAVAILABLE).
        """
        return self._usages.read(mailbox) if self.quota(mailbox).bounded else None

    def end(self, mailbox: str, begun: Usage | None, messages: int, size: int) -> None:
        """So much was seen. Where something was filed or acknowledged meanwhile, the usage stays as it is."""
        if begun is None:
            return
        try:
            self._usages.correct(mailbox, begun, messages, size)
        except NotNowError:
            _log.warning("the usage of %s was not put right", mailbox)

    def gone(self, mailbox: str, sizes: Sequence[int]) -> None:
        """Messages of these sizes were acknowledged."""
        if not sizes or not self.quota(mailbox).bounded:
            return
        try:
            self._usages.add(mailbox, -len(sizes), -sum(sizes))
        except NotNowError:
            _log.warning("%s messages were not taken off the usage of %s", len(sizes), mailbox)
