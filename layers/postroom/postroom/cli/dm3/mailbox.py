"""`postroom dm3 mailbox`: the mailboxes of the delivery service. Changes take effect within a minute."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from postroom.cli.deployment import DeploymentOptions
from postroom.cli.dm3.inputs import dm3_name, offered_types
from postroom.cli.exits import NotFoundFault, UsageFault
from postroom.cli.inputs import AsJson
from postroom.cli.options import CommandTyper, OptionGroup, repeatable
from postroom.cli.output import note, print_either, print_list
from postroom.core.errors import TheirError
from postroom.core.ijson import JsonValue

if TYPE_CHECKING:
    from postroom.protocols.dm3.extension import FilterRules, TokenBalance
    from postroom.storage.directory.domains import Dm3Mailbox

app = CommandTyper(help="Manage mailboxes of the delivery service.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="The receiver's name.", metavar="NAME", parser=dm3_name)]


@dataclass(frozen=True, kw_only=True)
class Dm3MailboxOptions(OptionGroup):
    """The settings of a mailbox of the delivery service."""

    type_: Annotated[
        list[str] | None, repeatable("A message type it accepts besides NEW", "--type", metavar="TYPE")
    ] = None
    allow: Annotated[
        list[str] | None, repeatable("Accept messages from these senders only", metavar="NAME", parser=dm3_name)
    ] = None
    block: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Accept no messages from this sender.", parser=dm3_name)
    ] = None
    min_nonce: Annotated[
        int | None, typer.Option(metavar="NUMBER", help="Accept accounts that made so many transactions.", min=0)
    ] = None
    min_balance: Annotated[
        int | None, typer.Option(metavar="WEI", help="Accept accounts that have so much.", min=0)
    ] = None
    min_token: Annotated[
        tuple[str, int] | None,
        typer.Option(metavar="ADDRESS AMOUNT", help="Accept accounts that have so much of this ERC-20 token."),
    ] = None
    unverified: Annotated[
        bool, typer.Option("--unverified", help="Accept senders who cannot be verified now, and mark their messages.")
    ] = False

    def mailbox(self, name: str) -> "Dm3Mailbox":
        """The mailbox of this name with these settings. Raises UsageFault."""
        from postroom.protocols.dm3.extension import FilterRules, ProfileExtension
        from postroom.storage.directory.domains import Dm3Mailbox

        types = offered_types(self.type_ or ())
        try:
            rules = FilterRules(
                self.min_nonce,
                self.min_balance,
                _token(*self.min_token) if self.min_token else None,
                tuple(self.allow or ()),
                tuple(self.block or ()),
            )
        except TheirError as error:
            raise UsageFault(f"these rules are invalid: {error.detail}") from None
        return Dm3Mailbox(name, ProfileExtension(message_types=types, rules=rules), self.unverified)


@app.command("add")
def add(name: Name, settings: Dm3MailboxOptions, deployment: DeploymentOptions, as_json: AsJson = False) -> None:
    """Add a mailbox, or replace all of its settings."""
    mailbox = settings.mailbox(name)
    storage = deployment.open().storage
    operators = storage.operators
    if name in operators.domains():
        raise UsageFault(f"{name} is a domain here: its mailbox receives NLWeb messages, and a name has one protocol")
    if mailbox.extension.rules.asks_a_chain and not storage.chain_endpoints.get():
        note(
            "these rules are about accounts, and this deployment has no endpoints of the chain to look them up at: "
            "until `postroom dm3 chain put` stores some, no sender is accepted"
        )
    operators.put_dm3_mailbox(mailbox)
    taken, senders, verified = _cells(mailbox)
    print_either(as_json, _describe(mailbox), f"{name}: takes {taken} from {senders}, {verified}")


@app.command("list")
def list_mailboxes(deployment: DeploymentOptions, as_json: AsJson = False) -> None:
    """List the mailboxes."""
    found = deployment.open().storage.operators.dm3_mailboxes()
    rows = [(each.name, *_cells(each)) for each in found]
    print_list(as_json, map(_describe, found), ("mailbox", "takes", "from", "senders"), rows)


@app.command("remove")
def remove(name: Name, deployment: DeploymentOptions, as_json: AsJson = False) -> None:
    """Remove a mailbox; its mail stays."""
    if not deployment.open().storage.operators.remove_dm3_mailbox(name):
        raise NotFoundFault(f"{name} has no dm3 mailbox here", hint="`postroom dm3 mailbox list` shows all")
    print_either(as_json, {"name": name, "removed": True}, f"{name}: removed")


def _token(address: str, amount: int) -> "TokenBalance":
    """The rule about a token. Raises UsageFault, also for a mistyped address, or TheirError(PROFILE_INVALID)."""
    from postroom.crypto.ethereum import read_address
    from postroom.protocols.dm3.extension import TokenBalance

    token = TokenBalance(address, amount)
    try:
        read_address(address)
    except ValueError as error:
        raise UsageFault(f"--min-token {address}: {error}") from None
    return token


def _describe(mailbox: "Dm3Mailbox") -> dict[str, JsonValue]:
    return {"name": mailbox.name, "unverified": mailbox.takes_unverified, "extension": mailbox.extension.as_json()}


def _cells(mailbox: "Dm3Mailbox") -> tuple[str, str, str]:
    extension = mailbox.extension
    verified = "verified or marked" if mailbox.takes_unverified else "verified"
    return ", ".join(extension.message_types), _senders(extension.rules), verified


def _senders(rules: "FilterRules") -> str:
    """The senders that the rules accept, in words."""
    token = rules.min_token_balance
    least = [
        f"a nonce of {rules.min_nonce}" if rules.min_nonce else "",
        f"{rules.min_balance} wei" if rules.min_balance else "",
        f"{token.amount} of {token.address}" if token and token.amount else "",
    ]
    parts = [
        ", ".join(rules.allow) or "anybody",
        f"but {', '.join(rules.block)}" if rules.block else "",
        f"with at least {', '.join(filter(None, least))}" if rules.asks_a_chain else "",
    ]
    return " ".join(part for part in parts if part)
