"""The registry of subjects: what becomes of a message by its `Subject` (settlement NLWeb 14)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

FEEDBACK: Final = "Feedback@Buffer"
IDENTITY: Final = ("Identity@Graph", "Identity@Broker")
"""Two names of one method (settlement NLWeb 10)."""


class Treatment(StrEnum):
    """What is done with a message of a registered subject."""

    MAILBOX = "mailbox"
    """Filed in the mailbox that `target` names."""
    SYNC = "sync"
    """Answered at once; `target` names the handler: a built-in one, or `lambda:<function>`."""
    FORWARD = "forward"
    """Handed on, at least once; `target` is the ARN of a queue or an event bus."""
    FEEDBACK = "feedback"
    """Filed for the domain in Body.Sender, under (Sender, Correlation); `target` is empty."""


@dataclass(frozen=True, slots=True)
class SubjectRule:
    """`pattern` is `Method@Role`, or a bare name; `*` may stand for the method, the role, or everything."""

    pattern: str
    treatment: Treatment
    target: str


BUILT_IN: Final = (
    SubjectRule(FEEDBACK, Treatment.FEEDBACK, ""),
    *(SubjectRule(subject, Treatment.SYNC, "identity") for subject in IDENTITY),
)
"""Known to every domain; an operator's rule with the same pattern goes before."""


def patterns_for(subject: str) -> tuple[str, ...]:
    """The patterns that match `subject`, the most telling first."""
    method, at, role = subject.partition("@")
    if not at:
        return (subject, "*")
    return (subject, f"{method}@*", f"*@{role}", "*@*", "*")


def find_rule(subject: str, rules: Iterable[SubjectRule]) -> SubjectRule | None:
    """The rule for `subject`: of one pattern the last, and any before the built-in; a more telling pattern before a
    wider one."""
    by_pattern = {rule.pattern: rule for rule in (*BUILT_IN, *rules)}
    return next((by_pattern[p] for p in patterns_for(subject) if p in by_pattern), None)


def in_force(operators: Sequence[SubjectRule], owners: Sequence[SubjectRule]) -> tuple[SubjectRule, ...]:
    """The rules of a domain for `find_rule`: of one pattern the owner's goes before an operator's mailbox, and before
    nothing else of an operator's."""
    mailboxes = [rule for rule in operators if rule.treatment is Treatment.MAILBOX]
    others = [rule for rule in operators if rule.treatment is not Treatment.MAILBOX]
    return (*mailboxes, *owners, *others)


def is_pattern(text: str) -> bool:
    """Whether `text` may stand as a pattern in the registry."""
    method, at, role = text.partition("@")
    parts = (method, role) if at else (method,)
    return all(part == "*" or (part and "*" not in part and part.isprintable()) for part in parts)
