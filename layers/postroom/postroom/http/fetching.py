"""Parallel reading of messages within a time limit, and the error for contents that cannot be read."""

import logging
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future
from contextlib import contextmanager, suppress
from typing import Final

from postroom.api.reasons import CONTENT_UNAVAILABLE
from postroom.core.errors import NotNowError
from postroom.http.router import unexpected_as
from postroom.storage.layout import RowKey
from postroom.storage.mail.ids import id_of
from postroom.storage.mail.reader import Found, Reader, Unreadable, runs_of
from postroom.storage.mail.register import Row

_log: Final = logging.getLogger(__name__)


class Fetching:
    """Fetches messages. `pool`: the threads that read from S3; `clock`: epoch seconds."""

    def __init__(self, reader: Reader, pool: Executor, clock: Callable[[], float]) -> None:
        self._reader = reader
        self._pool = pool
        self._clock = clock

    def fetch(self, rows: Sequence[Row], until: float) -> list[Found]:
        """The results for the first of these rows, in their order: for as many as could be fetched until then.

        A row that cannot be read is also logged. Raises NotNowError(CONTENT_UNAVAILABLE), also if nothing could be
        fetched in that time.
        """
        runs = runs_of(rows)
        running: list[Future[Sequence[Found]]] = [self._pool.submit(self._begin, run, until) for run in runs]
        found: dict[RowKey, Found] = {}
        try:
            with reading_contents(), suppress(TimeoutError):
                for run, future in zip(runs, running, strict=True):
                    each_found = future.result(max(0.0, until - self._clock()))
                    found |= zip((row.key for row in run), each_found, strict=True)
        finally:
            for future in running:
                future.cancel()
        # Messages that were fetched after a gap are fetched again later: a page must not skip the gap.
        done = []
        for row in rows:
            if row.key not in found:
                break
            done.append(found[row.key])
        if rows and not done:
            raise NotNowError(CONTENT_UNAVAILABLE, "the messages could not be read in time")
        for each in done:
            if isinstance(each, Unreadable):
                log_unreadable(each)
        return done

    def _begin(self, run: Sequence[Row], until: float) -> Sequence[Found]:
        if self._clock() >= until:
            raise TimeoutError
        return self._reader.fetch_run(run)


def log_unreadable(unreadable: Unreadable) -> None:
    """Log messages that cannot be read: an operator must look into it, because their owner waits for them."""
    row = unreadable.row
    _log.error(
        "message %s of %s is live, and its line is not at %s: the object is gone, or damaged there",
        id_of(row.key), row.key.mailbox, row.place,
    )  # fmt: skip


@contextmanager
def reading_contents() -> Iterator[None]:
    """Raise NotNowError(CONTENT_UNAVAILABLE) for each failure to read a message or a container that exists.

    Such a failure shows that the content exists, and a bug may affect one message only. So these failures have their
    own reason, with which a request of DCP counts (`http.dcp_operations`). A TheirError passes unchanged.
    """
    with unexpected_as(CONTENT_UNAVAILABLE):
        try:
            yield
        except NotNowError as error:
            raise NotNowError(CONTENT_UNAVAILABLE, error.detail) from error
