"""Requests and answers between the core and its drivers, as values."""

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class MailboxRequest:
    """A request to the mailbox's host. `path`: percent-encoded.

    `pause`: seconds to wait before it is sent. `wait`: seconds by which its answer may be later than that of others.
    """

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)  # contains a token
    body: bytes = b""
    pause: float = 0.0
    wait: float = 0.0


@dataclass(frozen=True, slots=True)
class MailboxResponse:
    """The host's response; names of `headers` are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class NoAnswer:
    """There is no answer. `untrusted`: the host could not prove who it is."""

    detail: str
    untrusted: bool = False


Answer: TypeAlias = MailboxResponse | NoAnswer
Steps: TypeAlias = Generator[MailboxRequest, Answer, T]
"""An operation: it yields requests, is sent the answer to each, and returns its result."""
