"""Look-ups that have all the time for each of their steps, for answers that always arrive, however busy the machine is.

    with unhurried():
        …

or, for a resolver alone, `patient`.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
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


@contextmanager
def unhurried() -> Iterator[None]:
    """Whoever is given no time of their own has all of it."""
    with pytest.MonkeyPatch.context() as patch:
        for module, name in _LIMITS:
            patch.setattr(module, name, PATIENCE)
        for made, option in _DEFAULTS:
            patch.setitem(made.__init__.__kwdefaults__, option, PATIENCE)  # type: ignore[misc]
        yield
