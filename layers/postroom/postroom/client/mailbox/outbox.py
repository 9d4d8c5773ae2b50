"""The list of sent messages, newest first. Sans-I/O."""

from postroom.api.schemas import SentMessage
from postroom.client.mailbox.core import Core
from postroom.client.mailbox.exchange import Steps
from postroom.client.mailbox.passes import News


class SentPages:
    """Pages of sent messages. An error changes nothing: the same page is then requested again."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._cursor = ""
        self._more = True

    def next_page(self) -> Steps[News[SentMessage] | None]:
        """Messages, perhaps none; None: the end. Raises MailboxError."""
        if not self._more:
            return None
        page = yield from self._core.sent(self._cursor)
        self._cursor, self._more = page.cursor, page.more
        return News(page.messages, [])
