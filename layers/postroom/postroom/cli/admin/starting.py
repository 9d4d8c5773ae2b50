"""A check of a function's environment variables, by the function's own reader of them."""

from collections.abc import Mapping

from postroom.core.errors import SettingsError
from postroom.core.settings import read_settings
from postroom.http.cors import Cors
from postroom.runtime.inbox import properties_of
from postroom.runtime.mailbox import service_name
from postroom.runtime.resolvers import build_resolvers
from postroom.runtime.senders import anchors_of


def what_stops(environment: Mapping[str, str]) -> str | None:
    """The sentence that a function of these variables ends with at its start; None: none of them does that."""
    try:
        settings = read_settings(environment)
        build_resolvers(settings).close()
        anchors_of(settings)
        Cors(settings.dm3_cors_origins, "DM3_CORS_ORIGINS")
        Cors(settings.counter_cors_origins, "COUNTER_CORS_ORIGINS")
        service_name(settings)
        properties_of(settings)
    except SettingsError as error:
        return str(error)
    return None
