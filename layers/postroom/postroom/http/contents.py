"""Reading what a mailbox contains: its messages and containers, behind the rows that say that they are there."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from postroom.api.reasons import CONTENT_UNAVAILABLE
from postroom.core.errors import NotNowError, TheirError
from postroom.net.aws_errors import our_own_fault

_log: Final = logging.getLogger(__name__)


@contextmanager
def reading_contents() -> Iterator[None]:
    """Raise NotNowError(CONTENT_UNAVAILABLE) for whatever fails while something that is there is read.

    That it is to be read says that it is there, whatever fails, and a bug may be met by one message only. So these
    faults have a reason of their own, by which a request of DCP counts (`http.dcp_operations`).
    """
    try:
        yield
    except TheirError:
        raise
    except NotNowError as error:
        raise NotNowError(CONTENT_UNAVAILABLE, error.detail) from error
    except Exception as error:
        if not our_own_fault(error):
            _log.exception("a handler failed")
        raise NotNowError(CONTENT_UNAVAILABLE) from error
