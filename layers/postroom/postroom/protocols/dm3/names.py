"""Normalisation of dm3 names (decision "Profiles")."""

from postroom.core.ens_names import normalized_name
from postroom.core.errors import TheirError
from postroom.protocols.dm3.reasons import NAME_INVALID


def normalize(name: str) -> str:
    """The normalised form of a name by ENSIP-15. Raises TheirError(NAME_INVALID): see `normalized_name`."""
    try:
        return normalized_name(name)
    except ValueError as error:
        raise TheirError(NAME_INVALID, str(error)) from None
