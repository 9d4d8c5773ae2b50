"""Names that could not be looked up within the time of a request: they are looked up once more, for all instances.

The sender of a message is told to try again, and the next try finds the text. A name that is slow to look up would be
refused for ever otherwise.
"""

import json
import logging
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import orjson

from postroom.core.errors import NotNowError, TheirError
from postroom.core.leaky_bucket import LeakyBucket
from postroom.core.typed_members import Members
from postroom.names.registry import ADDRESS_KEY, Registry
from postroom.net.aws_errors import stack_of
from postroom.outbound.ports import Clock, SendQueue
from postroom.storage.limits.name_texts import KeptText, NameTexts

REQUESTS_PER_SECOND: Final = 1
REQUESTS_AT_ONCE: Final = 10
"""By one instance: strangers choose the names."""
_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SlowNames:
    """Has names looked up for all instances. `rate`: of the names of this instance."""

    texts: NameTexts
    queue: SendQueue
    rate: LeakyBucket
    clock: Clock

    def request(self, name: str, key: str) -> None:
        """Have a text of a normalised name looked up, unless that began a moment ago.

        If that is not possible now, the next request that is too slow does it.
        """
        if not self.rate.take():
            return
        try:
            if self.texts.begin_look_up(name, key, self.clock()):
                self.queue.send(json.dumps({"name": name, "key": key}))
        except NotNowError as error:
            _log.warning("a name is not looked up for all instances: %s", error)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NameLookUps:
    """Looks up the names of the queue. `registry`, `addresses`: with more time than a request has."""

    registry: Registry
    addresses: Registry
    texts: NameTexts
    clock: Clock

    def look_up(self, bodies: Iterable[str]) -> int:
        """Look up names, one after the other, and keep what was found: how many. Raises nothing that concerns a single
        name.

        What could not be found out is requested again by the next message of the sender.
        """
        kept = 0
        for body in bodies:
            try:
                members = Members(orjson.loads(body), "a name to look up")
                self._keep(members.text("name"), members.text("key"))
                kept += 1
            except (NotNowError, TheirError) as error:
                _log.info("a name could not be looked up: %s", error.reason)
            except Exception as error:
                _log.error("a message of the queue of names failed", exc_info=stack_of(error))
        return kept

    def _keep(self, name: str, key: str) -> None:
        now = self.clock()
        found = (self.addresses if key == ADDRESS_KEY else self.registry).text(name, key)
        self.texts.keep(name, key, KeptText(found.value, int(now + found.seconds), json.dumps(dict(found.evidence))))
