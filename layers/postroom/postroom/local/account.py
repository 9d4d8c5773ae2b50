"""An account of a local stack."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LocalAccount:
    """An account of a local stack: its endpoint, and its twelve digits."""

    endpoint_url: str
    digits: str
