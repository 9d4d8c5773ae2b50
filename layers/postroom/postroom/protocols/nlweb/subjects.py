"""The registry of subjects: what is done with a message, by its `Subject` (decision "Subjects")."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

FEEDBACK: Final = "Feedback@Buffer"
IDENTITY: Final = ("Identity@Graph", "Identity@Broker")
"""Two names of one method (decision "Feedback")."""


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


def find_rule_of_both(
    subject: str, operators: Sequence[SubjectRule], owners: Sequence[SubjectRule]
) -> SubjectRule | None:
    """The rule for `subject` in a domain whose owner has rules, too: of the operator's mailboxes the owner's go before
    those of the same pattern; what the operator's rules hand on or answer is not the owner's to take."""
    operators_rule = find_rule(subject, operators)
    if operators_rule is not None and operators_rule.treatment is not Treatment.MAILBOX:
        return operators_rule
    mailboxes = [rule for rule in operators if rule.treatment is Treatment.MAILBOX]
    return find_rule(subject, (*mailboxes, *owners))


def is_pattern(text: str) -> bool:
    """Whether `text` may stand as a pattern in the registry."""
    method, at, role = text.partition("@")
    parts = (method, role) if at else (method,)
    return all(part == "*" or (part and "*" not in part and part.isprintable()) for part in parts)
