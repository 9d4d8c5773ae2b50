"""`postroom mailbox`: the owners and shards of mailboxes.

A key that is set can sign in at once. Other changes take effect within a minute.
"""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from postroom.cli import notify
from postroom.cli.deployment import DeploymentOptions
from postroom.cli.exits import NotFoundFault, UsageFault
from postroom.cli.inputs import AsJson, MailboxName, load_owner_key
from postroom.cli.open_deployment import OpenDeployment
from postroom.cli.options import CommandTyper, OptionGroup, repeatable
from postroom.cli.output import note, print_either, print_json, print_list
from postroom.cli.preferences import settings
from postroom.cli.register import register
from postroom.cli.terminal import print_line
from postroom.core.errors import OurError
from postroom.core.ijson import JsonValue

if TYPE_CHECKING:
    from postroom.storage.directory.domains import Dm3Mailbox
    from postroom.storage.directory.mailboxes import MailboxRecord

app = CommandTyper(help="Manage mailboxes: owners, limits, legal holds.", no_args_is_help=True)
app.command("register")(register)
app.command("settings")(settings)
app.add_typer(notify.app, name="notify")

_MOST_SHARDS = 1000
"""A reader reads every shard, and the number never falls, so a typing error would last."""
_SEEN_BY_THEN_SECONDS = 120
"""By then every instance of a function has read a changed secret."""


def _check_ttl(days: int | None) -> int | None:
    """Raise BadParameter for fewer days than any message is kept."""
    from postroom.storage.mail.expiry import FLOOR_DAYS

    if days is not None and days != 0 and days < FLOOR_DAYS:
        raise typer.BadParameter(f"{days} is less than {FLOOR_DAYS} days, the least for any message; 0: never expires")
    return days


@dataclass(frozen=True, kw_only=True)
class PublicKeyOptions(OptionGroup):
    """The public keys by which an owner signs in."""

    public_key: Annotated[
        list[Path] | None, repeatable("A public key of the owner (PEM)", "--public-key", metavar="FILE")
    ] = None
    public_key_base64: Annotated[
        list[str] | None,
        repeatable(
            "The same as base64: of a SubjectPublicKeyInfo, or as in a dm3 profile",
            "--public-key-base64",
            metavar="BASE64",
        ),
    ] = None

    def read(self) -> list[str]:
        """The keys that were named, in base64. Raises UsageFault."""
        from postroom.http.owner_keys import read_owner_key

        keys = [load_owner_key(file) for file in self.public_key or ()]
        for text in self.public_key_base64 or ():
            try:
                read_owner_key(text)
            except OurError as error:
                raise UsageFault(f"--public-key-base64: {error}") from None
            keys.append(text)
        return keys


@app.command("open")
def open_mailbox(
    name: MailboxName,
    public_keys: PublicKeyOptions,
    dm3: Annotated[
        bool, typer.Option("--dm3", help="It receives dm3 messages; its profile's key is one of the owner's.")
    ] = False,
    *,
    deployment: DeploymentOptions,
    as_json: AsJson = False,
) -> None:
    """Open or reopen a mailbox, and set its owner's keys."""
    from postroom.storage.directory.domains import Dm3Mailbox

    keys, opened = public_keys.read(), deployment.open()
    directory, operators = opened.storage.directory, opened.storage.operators
    is_dm3 = directory.dm3_mailbox(name) is not None
    if not keys and not dm3 and not is_dm3:
        raise UsageFault("the owner needs a key to sign in: --public-key FILE or --public-key-base64 BASE64; or --dm3")
    if dm3 and name in operators.domains():
        raise UsageFault(f"{name} is a domain here: its mailbox receives NLWeb messages, and a name has one protocol")
    if dm3 and not is_dm3:
        operators.put_dm3_mailbox(Dm3Mailbox(name))
    opened.storage.mailboxes.set_keys(name, keys)
    _print_one(opened, name, as_json=as_json)


@app.command("set")
def change(
    name: MailboxName,
    public_keys: PublicKeyOptions,
    sign_out: Annotated[bool, typer.Option("--sign-out", help="Revoke all tokens.")] = False,
    max_messages: Annotated[
        int | None, typer.Option(help="How many messages it may hold; 0: unlimited.", min=0)
    ] = None,
    max_bytes: Annotated[
        int | None, typer.Option(help="How many bytes of messages it may hold; 0: unlimited.", min=0)
    ] = None,
    ttl_days: Annotated[
        int | None,
        typer.Option(help="How many days it keeps a message, 30 or more; 0: never expire.", callback=_check_ttl),
    ] = None,
    shards: Annotated[
        int | None,
        typer.Option(help="Shards of a busy mailbox, for some 1000 messages a second each.", min=1, max=_MOST_SHARDS),
    ] = None,
    *,
    deployment: DeploymentOptions,
    as_json: AsJson = False,
) -> None:
    """Change a mailbox: keys, quota, days to keep mail, shards.

    The number of shards can only be raised.
    """
    keys, opened = public_keys.read(), deployment.open()
    bounds = max_messages is not None or max_bytes is not None
    of_mailbox = bounds or ttl_days is not None or shards is not None
    if keys or sign_out or not of_mailbox:
        _open_one(opened, name)
    if not keys and not sign_out and not of_mailbox:
        raise UsageFault(
            "name what to change: --public-key, --public-key-base64, --sign-out, --max-messages, --max-bytes, "
            "--ttl-days or --shards"
        )
    if shards is not None:
        _raise_shards(opened, name, shards)
    if keys:
        opened.storage.mailboxes.set_keys(name, keys)
    if sign_out:
        opened.storage.mailboxes.revoke_tokens(name, int(time.time()))
    if bounds:
        opened.storage.mailboxes.set_quota(name, messages=max_messages, size=max_bytes)
        # Existing messages count as well.
        _count(opened, name)
    if ttl_days is not None:
        opened.storage.mailboxes.set_ttl(name, ttl_days)
    _print_one(opened, name, as_json=as_json)
    if ttl_days is not None and not as_json:
        print_line(f"    {_kept(opened, name)}")


@app.command("list")
def list_mailboxes(deployment: DeploymentOptions, as_json: AsJson = False) -> None:
    """List the mailboxes that hold mail, or have or had an owner.

    It reads all rows of the table of messages.
    """
    from postroom.storage.directory.mailboxes import MailboxRecord
    from postroom.storage.mail.reader import MailboxMail

    opened = deployment.open()
    set_up = {it.name: it for it in opened.storage.operators.mailboxes()}
    of_dm3 = {it.name: it for it in opened.storage.operators.dm3_mailboxes()}
    mail = opened.storage.reader.count_all(int(time.time()))
    found: list[dict[str, JsonValue]] = []
    for name in sorted({*set_up, *of_dm3, *mail}):
        its = mail.get(name, MailboxMail())
        described = _describe(opened, set_up.get(name, MailboxRecord(name)), of_dm3.get(name))
        found.append({**described, "waiting": its.messages, "bytes": its.bytes})
    rows = [
        (
            str(it["name"]), str(it["protocol"]), _of_most(it["waiting"], it["max_messages"]),
            _of_most(it["bytes"], it["max_bytes"]), _login_text(it), _state(it),
        )
        for it in found
    ]  # fmt: skip
    print_list(as_json, found, ("mailbox", "protocol", "messages", "bytes", "owner's keys", ""), rows)


@app.command("show")
def show(name: MailboxName, deployment: DeploymentOptions, as_json: AsJson = False) -> None:
    """Show a mailbox's settings, and how much mail it has."""
    opened = deployment.open()
    described = _describe_one(opened, name)
    if not (_is_set(described) or name in opened.storage.operators.domains() or _is_known(opened, name)):
        raise NotFoundFault(f"{name} has no mailbox here, and no mail", hint="`postroom mailbox list` shows all")
    waiting, size = _count(opened, name)
    shards = described["shards"]
    if as_json:
        print_json({**described, "waiting": waiting, "bytes": size})
        return
    print_line(f"{name}: {described['protocol']}, {_state(described)}")
    print_line(f"    the owner signs in by {_login_text(described)}")
    if addresses := _texts(described["addresses"]):
        print_line(f"    for DCP, its keys are {', '.join(addresses)}")
    print_line(f"    {waiting} {_noun(waiting, 'message')} waiting, {size} bytes, in {shards} {_noun(shards, 'shard')}")
    print_line(
        f"    it may hold {_most(described['max_messages'], 'messages')}, {_most(described['max_bytes'], 'bytes')}"
    )
    print_line(f"    {_kept(opened, name)}")


@app.command("close")
def close(name: MailboxName, deployment: DeploymentOptions, as_json: AsJson = False) -> None:
    """Close a mailbox: nobody can sign in; its mail stays.

    Messages to it are still stored.
    """
    opened = deployment.open()
    _open_one(opened, name)
    opened.storage.mailboxes.close(name, int(time.time()))
    print_either(as_json, {"name": name, "closed": True}, f"{name}: closed")


@app.command("hold")
def hold(name: MailboxName, deployment: DeploymentOptions, as_json: AsJson = False) -> None:
    """Put a mailbox under legal hold: nothing in it is deleted."""
    opened = deployment.open()
    known = _is_known(opened, name)
    opened.storage.mailboxes.hold(name)
    print_either(as_json, {"name": name, "held": True}, f"{name}: under legal hold")
    if not known:
        note(
            f"{name} has no owner here, and no mail: is the name correct? It is under legal hold now; "
            f"`postroom mailbox release {name}` undoes that."
        )


@app.command("release")
def release(name: MailboxName, deployment: DeploymentOptions, as_json: AsJson = False) -> None:
    """Release a mailbox from legal hold.

    Mail that has expired meanwhile is deleted by the next runs of the jobs.
    """
    deployment.open().storage.mailboxes.release(name)
    print_either(as_json, {"name": name, "held": False}, f"{name}: not under legal hold")


@app.command("rotate-keys")
def rotate_keys(deployment: DeploymentOptions, as_json: AsJson = False) -> None:
    """Replace the key that signs tokens; nobody is signed out."""
    import secrets

    from postroom.http.tokens import TOKEN_SECONDS

    now = int(time.time())
    begins_at = now + _SEEN_BY_THEN_SECONDS
    keys = deployment.open().storage.token_keys
    keys.add(secrets.token_urlsafe(48), begins_at, drop_before=now - TOKEN_SECONDS)
    print_either(as_json, {"begins_at": begins_at}, f"a new key signs tokens in {_SEEN_BY_THEN_SECONDS} s")


def _raise_shards(opened: OpenDeployment, name: str, count: int) -> None:
    if not opened.storage.mailboxes.raise_shards(name, count):
        stands = opened.storage.directory.shards(name)
        if stands != count:
            raise UsageFault(f"{name} has {stands} shards already; the number can only be raised")


def _open_one(opened: OpenDeployment, name: str) -> "MailboxRecord":
    mailbox = opened.storage.directory.mailbox(name)
    if mailbox.closed or not _has_owner(opened, mailbox):
        raise NotFoundFault(f"{name} has no owner here", hint="`postroom mailbox open` gives it one")
    return mailbox


def _is_known(opened: OpenDeployment, name: str) -> bool:
    mailbox = opened.storage.directory.mailbox(name)
    waiting = opened.storage.reader.list(name, mailbox.shards, now=int(time.time()))
    return mailbox.closed or _has_owner(opened, mailbox) or any(True for _ in waiting)


def _has_owner(opened: OpenDeployment, mailbox: "MailboxRecord") -> bool:
    return bool(mailbox.keys or opened.storage.directory.dm3_mailbox(mailbox.name))


def _count(opened: OpenDeployment, name: str) -> tuple[int, int]:
    """The number and bytes of its messages; the stored usage is corrected."""
    usage_tracker = opened.deployment.mailbox_api.usage_tracker
    begun = usage_tracker.begin(name)
    sizes = [
        row.place.length
        for row in opened.storage.reader.list(name, opened.storage.directory.shards(name), now=int(time.time()))
        if row.place
    ]
    usage_tracker.end(name, begun, len(sizes), sum(sizes))
    return len(sizes), sum(sizes)


def _noun(number: JsonValue, one: str) -> str:
    return one if number == 1 else f"{one}s"


def _most(bound: JsonValue, things: str) -> str:
    return f"at most {bound} {things}" if bound else f"an unlimited number of {things}"


def _kept(opened: OpenDeployment, name: str) -> str:
    """How long messages are kept, in words."""
    from postroom.storage.mail.expiry import days_kept

    mailbox, is_dm3 = opened.storage.directory.mailbox(name), opened.storage.mailboxes.is_of_dm3(name)
    if mailbox.held:
        return "messages stay while it is under legal hold"
    days = days_kept(mailbox.ttl_days, opened.deployment.settings.dm3_message_ttl_days if is_dm3 else None)
    stay = f"messages stay {days} days" if days else "messages never expire"
    if is_dm3 and mailbox.ttl_days and mailbox.ttl_days != days:
        return f"{stay}, as the delivery service promises dm3 senders (Dm3MessageTtlDays), not only {mailbox.ttl_days}"
    return stay


def _of_most(number: JsonValue, bound: JsonValue) -> str:
    return f"{number} of {bound}" if bound else f"{number}"


def _describe_one(opened: OpenDeployment, name: str) -> dict[str, JsonValue]:
    directory = opened.storage.directory
    return _describe(opened, directory.mailbox(name), directory.dm3_mailbox(name))


def _describe(opened: OpenDeployment, mailbox: "MailboxRecord", dm3: "Dm3Mailbox | None") -> dict[str, JsonValue]:
    from postroom.http.owner_keys import address_of, read_owner_key

    keys = [read_owner_key(text) for text in mailbox.keys]
    quota = opened.storage.quota.of(mailbox)
    return {
        "name": mailbox.name,
        "protocol": "dm3" if dm3 else "nlweb",
        "keys": [key.fingerprint for key in keys],
        "addresses": [f"0x{address}" for key in keys if (address := address_of(key))],
        "key_of_profile": dm3 is not None,
        "shards": mailbox.shards,
        "closed": mailbox.closed,
        "max_messages": quota.messages or None,
        "max_bytes": quota.bytes or None,
        "ttl_days": mailbox.ttl_days,
        "held": mailbox.held,
        "by_owner": dm3 is not None and dm3.by_owner,
    }


def _is_set(described: dict[str, JsonValue]) -> bool:
    """Whether an operator set something for the mailbox."""
    return bool(
        described["max_messages"] or described["max_bytes"] or described["ttl_days"] is not None or described["held"]
        or described["shards"] != 1
    )  # fmt: skip


def _print_one(opened: OpenDeployment, name: str, *, as_json: bool) -> None:
    described = _describe_one(opened, name)
    print_either(as_json, described, f"{name}: {described['protocol']}, the owner signs in by {_login_text(described)}")


def _state(described: dict[str, JsonValue]) -> str:
    """Its state in words, and who opened it if no operator did."""
    owned = described["keys"] or described["key_of_profile"]
    state = "closed" if described["closed"] else "open" if owned else "no owner"
    opened = ", its owner opened it" if described["by_owner"] else ""
    return f"{state}{opened}{', under legal hold' if described['held'] else ''}"


def _login_text(described: dict[str, JsonValue]) -> str:
    """The owner's keys, in words."""
    of_profile = ["the key of its dm3 profile"] if described["key_of_profile"] else []
    return ", ".join([*_texts(described["keys"]), *of_profile]) or "no key"


def _texts(value: JsonValue) -> list[str]:
    return [str(each) for each in value] if isinstance(value, list) else []
