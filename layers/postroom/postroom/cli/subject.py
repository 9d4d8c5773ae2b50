"""`postroom subject`: what becomes of a message by its Subject (settlement NLWeb 14)."""

import re
from typing import TYPE_CHECKING, Annotated

import typer

from postroom.cli.descriptor import Local
from postroom.cli.exits import UsageFault
from postroom.cli.inputs import AsJson, domain_name
from postroom.cli.office import DeploymentName, Office, StackName, open_office
from postroom.cli.output import print_either, print_json, print_table

if TYPE_CHECKING:
    from postroom.nlweb.subjects import SubjectRule
    from postroom.store.directory import Domain

app = typer.Typer(help="What becomes of a message, by its Subject.", no_args_is_help=True)

ForDomain = Annotated[str, typer.Option("--domain", help="The receiving domain.", parser=domain_name)]
Pattern = Annotated[str, typer.Argument(help="Method@Role; * may stand for the method, the role, or everything.")]

_FORWARD_ARN = re.compile(r"arn:[a-z-]+:(?:sqs:[a-z0-9-]+:[0-9]{12}:\S+|events:[a-z0-9-]+:[0-9]{12}:event-bus/\S+)")
_HANDLER = re.compile(r"identity|lambda:\S+")


@app.command("add")
def add(
    pattern: Pattern,
    domain: ForDomain,
    mailbox: Annotated[str | None, typer.Option(help="File them in this mailbox.")] = None,
    sync: Annotated[
        str | None, typer.Option(metavar="HANDLER", help="Answer at once: identity, or lambda:<function>.")
    ] = None,
    forward: Annotated[
        str | None,
        typer.Option(metavar="ARN", help="Hand on to a queue or event bus (that the stack's parameters allow)."),
    ] = None,
    stack_name: StackName = None,
    local: Local = None,
    deployment: DeploymentName = None,
    as_json: AsJson = False,
) -> None:
    """Add the rule for a pattern, or replace it."""
    rule = _rule(pattern, mailbox, sync, forward)
    office = open_office(stack_name, local, deployment)
    _find(office, domain)
    office.operators().put_subject(domain, rule)
    print_either(
        as_json,
        {"domain": domain, "pattern": pattern, "treatment": str(rule.treatment), "target": rule.target},
        f"{domain}: {pattern} → {rule.treatment} {rule.target}",
    )


@app.command("list")
def list_subjects(
    domain: ForDomain,
    stack_name: StackName = None,
    local: Local = None,
    deployment: DeploymentName = None,
    as_json: AsJson = False,
) -> None:
    """List the rules of a domain; those that every domain has are marked as built in."""
    from postroom.nlweb.subjects import BUILT_IN

    own = _find(open_office(stack_name, local, deployment), domain).subjects
    replaced = {rule.pattern for rule in own}
    rules = [(rule, False) for rule in own] + [(rule, True) for rule in BUILT_IN if rule.pattern not in replaced]
    if as_json:
        print_json([
            {"pattern": rule.pattern, "treatment": str(rule.treatment), "target": rule.target, "built_in": built_in}
            for rule, built_in in rules
        ])  # fmt: skip
        return
    print_table(
        ("pattern", "treatment", "target", ""),
        [(rule.pattern, str(rule.treatment), rule.target, "built in" if built_in else "") for rule, built_in in rules],
    )


@app.command("remove")
def remove(
    pattern: Pattern,
    domain: ForDomain,
    stack_name: StackName = None,
    local: Local = None,
    deployment: DeploymentName = None,
    as_json: AsJson = False,
) -> None:
    """Remove the rule for a pattern."""
    office = open_office(stack_name, local, deployment)
    if pattern not in {rule.pattern for rule in _find(office, domain).subjects}:
        raise UsageFault(f"{domain} has no rule for {pattern!r}; `postroom subject list` shows what it has")
    office.operators().remove_subject(domain, pattern)
    print_either(as_json, {"domain": domain, "pattern": pattern, "removed": True}, f"{domain}: {pattern} removed")


def _rule(pattern: str, mailbox: str | None, sync: str | None, forward: str | None) -> "SubjectRule":
    from postroom.nlweb.subjects import SubjectRule, Treatment, is_pattern

    if not is_pattern(pattern):
        raise UsageFault(f"{pattern!r} is no pattern: Method@Role or a name, with * only for a whole part")
    given = [
        (treatment, target)
        for treatment, target in ((Treatment.MAILBOX, mailbox), (Treatment.SYNC, sync), (Treatment.FORWARD, forward))
        if target is not None
    ]
    if len(given) != 1:
        raise UsageFault("say one of --mailbox, --sync and --forward: what becomes of these messages")
    treatment, target = given[0]
    if treatment is Treatment.MAILBOX and not (target and target.isprintable() and "#" not in target):
        raise UsageFault("--mailbox must be a name of printable characters without #")
    if treatment is Treatment.SYNC and not _HANDLER.fullmatch(target):
        raise UsageFault(f"--sync is {target!r}; it must be identity or lambda:<name or ARN of a function>")
    if treatment is Treatment.FORWARD and not _FORWARD_ARN.fullmatch(target):
        raise UsageFault(f"--forward is {target!r}; it must be the ARN of an SQS queue or an EventBridge bus")
    return SubjectRule(pattern, treatment, target)


def _find(office: Office, domain: str) -> "Domain":
    found = office.directory().domain(domain)
    if found is None:
        raise UsageFault(f"{domain} is not in the directory; add it by `postroom domain add {domain}`")
    return found
