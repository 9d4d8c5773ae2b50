"""Several registries in an order: the first one that a name is in says what is published there."""

from collections.abc import Callable, Sequence
from typing import Final

from postroom.core.errors import SettingsError
from postroom.names.registry import Registry, RegistryText

PINNED: Final = "pinned"
DNS: Final = "dns"
ENS: Final = "ens"
KINDS: Final = (PINNED, DNS, ENS)


class Registries:
    """Registries, of which the next is used only if the one before says that a name is not in it. Safe to share.

    `order`: each returns its registry, and is called for the first time when a look-up needs it.
    """

    def __init__(self, order: Sequence[Callable[[], Registry]]) -> None:
        if not order:
            raise ValueError("no registry is given")
        self._order = tuple(order)

    def text(self, name: str, key: str, *, fresh: bool = False) -> RegistryText:
        """The text; if the name is in no registry, what the last of them says. Raises as any of them does.

        One that could not find it out is not passed over: whoever can silence it could choose what is believed.
        """
        for registry in self._order:
            text = registry().text(name, key, fresh=fresh)
            if text.value is not None:
                break
        return text


def parse_order(text: str) -> tuple[str, ...]:
    """The kinds of registries in a list such as `pinned,dns,ens`. Raises SettingsError."""
    order = tuple(kind.strip() for kind in text.split(","))
    if not set(order) <= set(KINDS) or len(set(order)) < len(order):
        raise SettingsError(f"is {text[:80]!r}; it must be some of {', '.join(KINDS)}, each once, in the order of use")
    return order
