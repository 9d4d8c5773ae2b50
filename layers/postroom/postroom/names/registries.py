"""Several registries in an order: the first one that a name is in says what is published there."""

from collections.abc import Callable, Sequence
from threading import Lock
from typing import Final

from postroom.core.errors import SettingsError
from postroom.names.registry import Registry, RegistryText

PINNED: Final = "pinned"
DNS: Final = "dns"
ENS: Final = "ens"
KINDS: Final = (PINNED, DNS, ENS)


class Registries:
    """Registries, of which the next is used only if the one before says that a name is not in it. Safe to share.

    `order`: each makes its registry, when a look-up first needs it.
    """

    def __init__(self, order: Sequence[Callable[[], Registry]]) -> None:
        if not order:
            raise ValueError("no registry is given")
        self._order = tuple(order)
        self._made: list[Registry] = []
        self._lock = Lock()

    def text(self, name: str, key: str, *, fresh: bool = False) -> RegistryText:
        """The text; if the name is in no registry, what the last of them says. Raises as any of them does.

        One that could not find it out is not passed over: whoever can silence it could choose what is believed.
        """
        for place in range(len(self._order)):
            text = self._registry(place).text(name, key, fresh=fresh)
            if text.value is not None:
                break
        return text

    def _registry(self, place: int) -> Registry:
        with self._lock:
            if place == len(self._made):
                self._made.append(self._order[place]())
            return self._made[place]


def parse_order(text: str) -> tuple[str, ...]:
    """The kinds of registries in a list such as `pinned,dns,ens`. Raises SettingsError."""
    order = tuple(kind.strip() for kind in text.split(","))
    if not set(order) <= set(KINDS) or len(set(order)) < len(order) or PINNED in order[1:]:
        raise SettingsError(
            f"is {text[:80]!r}; it must be some of {', '.join(KINDS)}, each once, in the order of use; a name that is "
            f"{PINNED} is looked up nowhere else, so that {PINNED} comes first"
        )
    return order
