"""The registry of Subjects: what is done with a message, by its `Subject` (decision "Subjects")."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

FEEDBACK: Final = "Feedback@Buffer"
IDENTITY: Final = ("Identity@Graph", "Identity@Broker")
"""Two names of one method (decision "Feedback")."""


class Treatment(StrEnum):
    """What is done with a message of a registered Subject."""

    MAILBOX = "mailbox"
    """Filed in the mailbox that `target` names."""
    SYNC = "sync"
    """Answered at once; `target` names the handler: a built-in one, or `lambda:<function>`."""
    FORWARD = "forward"
    """Forwarded, at least once; `target` is the ARN of a queue or an event bus."""
    FEEDBACK = "feedback"
    """Filed for the domain in Body.Sender, or without it for the receiver, under the Correlation; `target` is empty."""


@dataclass(frozen=True, slots=True)
class SubjectRule:
    """A rule. `pattern` is `Method@Role`, or a bare name; `*` may stand for the method, the role, or everything."""

    pattern: str
    treatment: Treatment
    target: str


BUILT_IN: Final = (
    SubjectRule(FEEDBACK, Treatment.FEEDBACK, ""),
    *(SubjectRule(subject, Treatment.SYNC, "identity") for subject in IDENTITY),
)
"""The rules of every domain; an operator's rule with the same pattern takes precedence."""


def patterns_for(subject: str) -> tuple[str, ...]:
    """The patterns that match `subject`, the most specific first."""
    method, at, role = subject.partition("@")
    if not at:
        return (subject, "*")
    return (subject, f"{method}@*", f"*@{role}", "*@*", "*")


def find_rule(subject: str, rules: Iterable[SubjectRule]) -> SubjectRule | None:
    """The rule for `subject`: a more specific pattern before a wider one.

    For the same pattern, the last rule is used, and any rule before a built-in one.
    """
    by_pattern = {rule.pattern: rule for rule in (*BUILT_IN, *rules)}
    return next((by_pattern[p] for p in patterns_for(subject) if p in by_pattern), None)


def find_rule_of_both(
    subject: str, operators: Sequence[SubjectRule], owners: Sequence[SubjectRule]
) -> SubjectRule | None:
    """The rule for `subject` in a domain whose owner has rules, too.

    For the same pattern, the owner's rule takes precedence over an operator's mailbox, but never over a rule that
    forwards or answers messages.
    """
    operators_rule = find_rule(subject, operators)
    if operators_rule is not None and operators_rule.treatment is not Treatment.MAILBOX:
        return operators_rule
    mailboxes = [rule for rule in operators if rule.treatment is Treatment.MAILBOX]
    return find_rule(subject, (*mailboxes, *owners))


def is_pattern(text: str) -> bool:
    """Whether `text` is a valid pattern for the registry."""
    method, at, role = text.partition("@")
    parts = (method, role) if at else (method,)
    return all(part == "*" or (part and "*" not in part and part.isprintable()) for part in parts)
