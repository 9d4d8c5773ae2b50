"""An account of a local stack."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class LocalAccount:
    """An account of a local stack: its endpoint, its twelve digits, and the secret of the stack."""

    endpoint_url: str
    digits: str
    secret: str = field(repr=False)
