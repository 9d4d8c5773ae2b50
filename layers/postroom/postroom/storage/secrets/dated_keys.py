"""Keys that are derived from dated random texts in a secret: `{"<epoch seconds>": "<random text>", …}`."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any, Generic, TypeVar

from postroom.storage.secrets.secret import SecretKeys

K = TypeVar("K")


class DatedKeys(SecretKeys, Generic[K]):
    """The keys, cached as in `Secret`. Each is the newest from its time on, until that of a later one."""

    _derived: tuple[dict[str, Any], dict[str, K]] = ({}, {})

    def derive(self, text: str) -> K:
        """The key of a random text."""
        raise NotImplementedError

    def newest_and_all(self) -> tuple[str, Mapping[str, K]]:
        """The time of the newest key that has begun, and all keys by their times, with those that have not begun.

        Raises NotNowError(SIGNING_KEY_UNAVAILABLE), also if none has begun yet.
        """
        entries = self._secret.entries()
        if self._derived[0] is not entries:
            # A name that is not a number may be the text that belongs beside it: no error may quote it.
            if not all(begun.isdecimal() and isinstance(text, str) for begun, text in entries.items()):
                raise self._secret.malformed()
            self._derived = (entries, {begun: self.derive(text) for begun, text in entries.items()})
        keys = self._derived[1]
        begun = [each for each in keys if int(each) <= self._clock()]
        if not begun:
            raise self._secret.malformed()
        return max(begun, key=int), keys

    def add(self, text: str, begins_at: int, *, drop_before: int) -> None:
        """Add a key of this random text, which is the newest from `begins_at` on (epoch seconds).

        By then every instance must have read it. Keys that were not the newest since `drop_before` are removed.
        """
        entries = self._secret.read()
        in_order = sorted(map(int, entries))
        # A key is the newest until the next one begins.
        over = {begun for begun, until in pairwise(in_order) if until < drop_before}
        kept = {begun: value for begun, value in entries.items() if int(begun) not in over}
        self._secret.put({**kept, str(begins_at): text})

    def replace_all(self, text: str, begins_at: int) -> None:
        """Replace all keys by that of this random text, which is the newest from `begins_at` on (epoch seconds)."""
        self._secret.put({str(begins_at): text})
