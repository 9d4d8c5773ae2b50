"""Look-ups that have all the time for each of their steps, for answers that always arrive, however busy the machine is.

    with unhurried():
        …

or, for a resolver alone, `patient`.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tests.patience import PATIENCE

from postroom.cli.dm3 import names as names_of_commands
from postroom.names import profile_documents
from postroom.names.dns import Resolvers
from postroom.names.ens import endpoints
from postroom.net import endpoint_client, pinned_connection
from postroom.net.https import HttpsClient
from postroom.runtime import name_parts

_LIMITS = (
    (endpoints, "LATE_SECONDS"), (endpoint_client, "_CONNECT_SECONDS"), (pinned_connection, "KEPT_SECONDS"),
    (profile_documents, "FETCH_SECONDS"), (name_parts, "PATIENT_SECONDS"), (names_of_commands, "LOOK_UP_SECONDS"),
)  # fmt: skip
_DEFAULTS = (
    (Resolvers, "try_seconds"), (Resolvers, "budget_seconds"), (HttpsClient, "connect_timeout"),
    (HttpsClient, "total_timeout"),
)  # fmt: skip


def patient(servers: str, **options: Any) -> Resolvers:
    """Resolvers with these options, with all the time for each answer."""
    return Resolvers(servers, **{"try_seconds": PATIENCE, "budget_seconds": PATIENCE, **options})


_LIMITS_AS_THEY_ARE = [(module, name, getattr(module, name)) for module, name in _LIMITS]
_DEFAULTS_AS_THEY_ARE = [(made, option, made.__init__.__kwdefaults__[option]) for made, option in _DEFAULTS]  # type: ignore[misc]
_open = 0


@contextmanager
def unhurried() -> Iterator[None]:
    """Resolvers and clients without limits of their own have all the time, until the last of such blocks ends."""
    global _open
    _open += 1
    _set(lambda _: PATIENCE)
    try:
        yield
    finally:
        _open -= 1
        if not _open:
            _set(lambda as_it_is: as_it_is)


def _set(value: Callable[[float], float]) -> None:
    for module, name, as_it_is in _LIMITS_AS_THEY_ARE:
        setattr(module, name, value(as_it_is))
    for made, option, as_it_is in _DEFAULTS_AS_THEY_ARE:
        made.__init__.__kwdefaults__[option] = value(as_it_is)  # type: ignore[misc]
