"""Requests and answers between the core and its drivers, as values."""

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class MailboxRequest:
    """A request to the mailbox's host. `path`: percent-encoded.

    `pause`: so many seconds pass before it is made. `wait`: so many seconds later than others it may be answered.
    """

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)  # a token stands in them
    body: bytes = b""
    pause: float = 0.0
    wait: float = 0.0


@dataclass(frozen=True, slots=True)
class MailboxResponse:
    """What the host answered; names of `headers` are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class NoAnswer:
    """There is none, and why. `untrusted`: it is not known who would have given it."""

    detail: str
    untrusted: bool = False


Answer: TypeAlias = MailboxResponse | NoAnswer
Steps: TypeAlias = Generator[MailboxRequest, Answer, T]
"""Something done: yields the requests that it takes, is sent what came of each, returns what came of all."""
