"""Registrable domains, by Mozilla's public suffix list, and the look-ups of which each may have only some at a time."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING

from postroom.api.mailbox_names import a_labels
from postroom.core.errors import NotNowError
from postroom.core.reasons import TOO_MANY_LOOK_UPS

if TYPE_CHECKING:
    from publicsuffixlist import PublicSuffixList

Hold = Callable[[str], AbstractContextManager[bool]]
"""Limits the look-ups that a domain has at a time (`storage.limits.held_runs`); False: it has too many."""


@contextmanager
def look_up_of(name: str, hold: Hold | None) -> Iterator[None]:
    """A look-up of a name that a stranger chose; None: without a limit. Raises NotNowError(TOO_MANY_LOOK_UPS)."""
    # A name without a dot stands in no registry in which strangers publish.
    if hold is None or "." not in name:
        yield
        return
    with hold(registrable_domain(name)) as may_look_up:
        if not may_look_up:
            raise NotNowError(TOO_MANY_LOOK_UPS)
        yield


@lru_cache(1024)
def registrable_domain(name: str) -> str:
    """The domain that its owner pays for, with A-labels: `b.co.uk` of `a.b.co.uk`, `uni.eth` of `a.b.uni.eth`.

    Below it, its owner makes any number of names. A public suffix is its own.
    """
    # Before it is written in A-labels: a label below it may be one of ENS only, and then none would be.
    return a_labels(_suffixes().privatesuffix(name) or name)


@lru_cache(1)
def _suffixes() -> "PublicSuffixList":
    from publicsuffixlist import PublicSuffixList

    # The others, such as github.io, give names away: all names below one of these count together.
    return PublicSuffixList(only_icann=True)
