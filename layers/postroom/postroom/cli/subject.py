"""`postroom subject`: what is done with messages, by their Subject (decision "Subjects")."""

import re
from typing import TYPE_CHECKING, Annotated

import typer

from postroom.cli.deployment import DeploymentOptions
from postroom.cli.exits import NotFoundFault, UsageFault
from postroom.cli.inputs import AsJson, domain_name
from postroom.cli.open_deployment import OpenDeployment
from postroom.cli.options import CommandTyper
from postroom.cli.output import note, print_either, print_list
from postroom.core.errors import TheirError
from postroom.core.ijson import JsonValue

if TYPE_CHECKING:
    from postroom.protocols.nlweb.subjects import SubjectRule
    from postroom.storage.directory.domains import Domain

app = CommandTyper(help="Manage what happens to messages, by their Subject.", no_args_is_help=True)

ForDomain = Annotated[str, typer.Option("--domain", help="The receiving domain.", parser=domain_name)]
Pattern = Annotated[str, typer.Argument(help="Method@Role; * may stand for the method, the role, or everything.")]

_FORWARD_ARN = re.compile(r"arn:[a-z-]+:(?:sqs:[a-z0-9-]+:[0-9]{12}:\S+|events:[a-z0-9-]+:[0-9]{12}:event-bus/\S+)")
_HANDLER = re.compile(r"identity|lambda:\S+")


@app.command("add")
def add(
    pattern: Pattern,
    domain: ForDomain,
    mailbox: Annotated[str | None, typer.Option(help="Store them in this mailbox.")] = None,
    sync: Annotated[
        str | None, typer.Option(metavar="HANDLER", help="Answer at once: identity, or lambda:<function>.")
    ] = None,
    forward: Annotated[
        str | None,
        typer.Option(metavar="ARN", help="Forward them to a queue or event bus that the stack's parameters allow."),
    ] = None,
    *,
    deployment: DeploymentOptions,
    as_json: AsJson = False,
) -> None:
    """Add the rule for a pattern, or replace it."""
    from postroom.protocols.nlweb.subjects import Treatment

    rule = _rule(pattern, domain, mailbox, sync, forward)
    opened = deployment.open()
    _find(opened, domain)
    if rule.treatment is Treatment.MAILBOX:
        _look_into(opened, rule.target)
    opened.storage.operators.put_subject(domain, rule)
    print_either(
        as_json,
        {"domain": domain, "pattern": pattern, "treatment": str(rule.treatment), "target": rule.target},
        f"{domain}: {pattern} → {rule.treatment} {rule.target}",
    )


@app.command("list")
def list_subjects(domain: ForDomain, deployment: DeploymentOptions, as_json: AsJson = False) -> None:
    """List the rules of a domain that are in force.

    Rules that every domain has, and those of its owner, are marked.
    """
    from postroom.protocols.nlweb.subjects import BUILT_IN, find_rule_of_both

    opened = deployment.open()
    own, owners = _find(opened, domain).subjects, opened.storage.directory.mailbox(domain).subjects
    marked = dict.fromkeys(owners, "the owner's") | dict.fromkeys(BUILT_IN, "built in") | dict.fromkeys(own, "")
    patterns = dict.fromkeys(rule.pattern for rule in (*own, *owners, *BUILT_IN))
    found = {pattern: find_rule_of_both(pattern, own, owners) for pattern in patterns}
    rules = [rule for pattern, rule in found.items() if rule and rule.pattern == pattern]
    described: list[JsonValue] = [
        {
            "pattern": rule.pattern, "treatment": str(rule.treatment), "target": rule.target,
            "built_in": marked[rule] == "built in", "by_owner": marked[rule] == "the owner's",
        }
        for rule in rules
    ]  # fmt: skip
    rows = [(rule.pattern, str(rule.treatment), rule.target, marked[rule]) for rule in rules]
    print_list(as_json, described, ("pattern", "treatment", "target", ""), rows)


@app.command("remove")
def remove(pattern: Pattern, domain: ForDomain, deployment: DeploymentOptions, as_json: AsJson = False) -> None:
    """Remove the rule for a pattern."""
    opened = deployment.open()
    if pattern not in {rule.pattern for rule in _find(opened, domain).subjects}:
        raise NotFoundFault(f"{domain} has no rule for {pattern!r}", hint="`postroom subject list` shows its rules")
    opened.storage.operators.remove_subject(domain, pattern)
    print_either(as_json, {"domain": domain, "pattern": pattern, "removed": True}, f"{domain}: {pattern} removed")


def _rule(pattern: str, domain: str, mailbox: str | None, sync: str | None, forward: str | None) -> "SubjectRule":
    from postroom.protocols.nlweb.subjects import SubjectRule, Treatment, is_pattern

    if not is_pattern(pattern):
        raise UsageFault(f"{pattern!r} is not a pattern: use Method@Role or a name, with * only for a whole part")
    given = [
        (treatment, target)
        for treatment, target in ((Treatment.MAILBOX, mailbox), (Treatment.SYNC, sync), (Treatment.FORWARD, forward))
        if target is not None
    ]
    if len(given) != 1:
        raise UsageFault("use one of --mailbox, --sync and --forward: what to do with these messages")
    treatment, target = given[0]
    if treatment is Treatment.MAILBOX:
        target = _mailbox(domain, target)
    if treatment is Treatment.SYNC and not _HANDLER.fullmatch(target):
        raise UsageFault(f"--sync is {target!r}; it must be identity or lambda:<name or ARN of a function>")
    if treatment is Treatment.FORWARD and not _FORWARD_ARN.fullmatch(target):
        raise UsageFault(f"--forward is {target!r}; it must be the ARN of an SQS queue or an EventBridge bus")
    return SubjectRule(pattern, treatment, target)


def _mailbox(domain: str, text: str) -> str:
    from postroom.api.mailbox_names import read_mailbox_of

    try:
        return read_mailbox_of(domain, text)
    except TheirError:
        raise UsageFault(f"--mailbox is {text!r}; it must be a name such as orders.{domain}, or {domain}") from None


def _look_into(opened: OpenDeployment, mailbox: str) -> None:
    """Refuse a dm3 mailbox; print a note about one without an owner."""
    if opened.storage.directory.dm3_mailbox(mailbox) is not None:
        raise UsageFault(f"{mailbox} receives dm3 messages: a mailbox has one protocol")
    found = opened.storage.directory.mailbox(mailbox)
    if found.closed or not found.keys:
        note(f"{mailbox} has no owner yet: its mail waits until `postroom mailbox open {mailbox}` gives it one")


def _find(opened: OpenDeployment, domain: str) -> "Domain":
    found = opened.storage.directory.domain(domain)
    if found is None:
        raise NotFoundFault(f"{domain} is not in the directory", hint=f"`postroom domain add {domain}` adds it")
    return found
