"""The packages of extras, which are imported only where they are used."""

from importlib.util import find_spec
from typing import Final

from postroom.core.errors import SettingsError

_IMPORTED: Final = {
    "chat": ("PIL", "textual"),
    "glue": ("pyspark",),
    "local": ("eth", "hypercorn", "ministack", "samtranslator", "trustme"),
    "peers": ("pollyweb",),
}
"""The packages of each extra that are imported, directly or not."""


def require(what: str, *extras: str) -> None:
    """Raise SettingsError if a package of these extras is missing. `what`: what needs it."""
    missing = [name for extra in extras for name in _IMPORTED[extra] if not find_spec(name)]
    if missing:
        raise SettingsError(
            f"{what} needs packages that are not installed here ({', '.join(missing)}): "
            f"`pip install 'postroom[{','.join(extras)}]'` installs them"
        )
