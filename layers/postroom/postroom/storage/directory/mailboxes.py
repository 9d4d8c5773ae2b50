"""The keys and settings of mailboxes: row `mailbox#<name>` of table `directory`."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from postroom.core.errors import NotNowError
from postroom.core.reasons import STORE_UNAVAILABLE
from postroom.net.aws_errors import CONDITION_FAILED, CancelledError, transacting, transient_as_not_now
from postroom.protocols.nlweb.subjects import SubjectRule, Treatment
from postroom.storage.aws.attributes import (
    ABSENT,
    Flag,
    Item,
    MalformedRowError,
    Number,
    Text,
    Value,
    item,
    primary_key,
)
from postroom.storage.aws.table import DynamoTable, Values

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

PREFIX, DM3, OPENED = "mailbox#", "dm3#", "opened#"
HELD = "held"
"""Attribute and key of rows that list the mailboxes under legal hold."""
OWN_ROW: Final = "!"
"""The sort key of the row about the partition itself."""
TTL_DAYS, CLOSED = Number("ttl_days"), Number("closed")
_OWNER_KEYS, _SHARDS = Text("owner_keys"), Number("shards")
_SIGN_OUTS, _SIGNED_OUT_AT = Number("sign_outs"), Number("signed_out_at")
_MAX_MESSAGES, _MAX_BYTES = Number("max_messages"), Number("max_bytes")
_OPENED: Final = Number("opened")
"""How many mailboxes owners opened: in row `opened#<domain>`."""
_HELD, _OWN_SETTINGS = Flag("held"), Text("own_settings")
EXTENSION, UNVERIFIED, BY_OWNER, REMOVED = Text("extension"), Flag("unverified"), Flag("by_owner"), Flag("removed")
"""Attributes of rows `dm3#<name>`."""


class Opening(Enum):
    """What came of the opening of a mailbox by its owner: an operator removed it, or its domain has too many."""

    OPEN = "open"
    REMOVED = "removed"
    FULL = "full"


@dataclass(frozen=True, slots=True)
class MailboxRecord:
    """A mailbox with its settings, also if it has no owner yet.

    `keys`: the owner's, as `http.owner_keys` reads them. `shards`: the number of its shards. `sign_outs`: how many
    times all devices were signed out; `signed_out_at`: when that was last, epoch seconds; None: never. `closed_at`:
    when it was closed, epoch seconds; 0: at an unknown time, None: it is open. `max_messages`, `max_bytes`: its quota
    (`storage.limits.quotas`); 0: unlimited, None: the deployment's. `ttl_days`: how long it keeps a message
    (`storage.mail.expiry`); 0: for ever, None: the deployment's setting. `held`: it is under legal hold, and nothing in
    it expires. The rest is set by the owner of an NLWeb mailbox. `blocks`: the blocked senders, as `nlweb.blocks` reads
    them. `subjects`: which messages of the domain go into which mailbox.
    """

    name: str
    keys: tuple[str, ...] = ()
    shards: int = 1
    sign_outs: int = 0
    signed_out_at: int | None = None
    closed_at: int | None = None
    max_messages: int | None = None
    max_bytes: int | None = None
    ttl_days: int | None = None
    held: bool = False
    blocks: frozenset[str] = frozenset()
    subjects: tuple[SubjectRule, ...] = ()

    @property
    def closed(self) -> bool:
        """Whether the mailbox is closed."""
        return self.closed_at is not None


@dataclass(frozen=True, slots=True)
class OwnSettings:
    """The settings of the owner of an NLWeb mailbox. `subjects`: pattern → mailbox; there are no other treatments."""

    blocks: tuple[str, ...] = ()
    subjects: Mapping[str, str] = field(default_factory=dict)

    def encode(self) -> str:
        """The settings as they are stored."""
        return json.dumps({"blocks": self.blocks, "subjects": self.subjects})


def read_own_settings(text: str) -> OwnSettings:
    """Read what `encode` wrote; an empty text: nothing was set yet."""
    value = json.loads(text or "{}")
    return OwnSettings(tuple(value.get("blocks", ())), value.get("subjects", {}))


def read_mailbox(name: str, row: Item | None) -> MailboxRecord:
    """The mailbox of this name, from its row if it has one."""
    if row is None:
        return MailboxRecord(name)
    own, shards = read_own_settings(_own_of(row)), _SHARDS.find(row)
    return MailboxRecord(
        name,
        tuple(json.loads(_OWNER_KEYS.find(row) or "[]")),
        1 if shards is None else shards,
        _SIGN_OUTS.find(row) or 0,
        _SIGNED_OUT_AT.find(row),
        _closed_at(row),
        _MAX_MESSAGES.find(row),
        _MAX_BYTES.find(row),
        TTL_DAYS.find(row),
        _HELD.is_in(row),
        blocks=frozenset(own.blocks),
        subjects=tuple(SubjectRule(pattern, Treatment.MAILBOX, target) for pattern, target in own.subjects.items()),
    )


@dataclass(frozen=True, slots=True)
class StoredSettings:
    """The content of row `dm3#<name>`, unchanged, so that a change by somebody else can be detected."""

    extension: str
    unverified: bool

    @property
    def mark(self) -> str:
        """A mark that differs for different settings."""
        return sha256(f"{self.unverified}{self.extension}".encode()).hexdigest()[:32]


class Mailboxes:
    """The same rows, written; each attribute by itself, so that no writer undoes another's change."""

    def __init__(self, dynamodb: "DynamoDBClient", table: str) -> None:
        self._dynamodb = dynamodb
        self._table = DynamoTable(dynamodb, table)

    def set_keys(self, name: str, keys: Sequence[str]) -> None:
        """Set the owner's keys, and open the mailbox."""
        values = {":keys": _OWNER_KEYS.encode(json.dumps(list(keys)))}
        self._update(name, f"SET {_OWNER_KEYS} = :keys REMOVE {CLOSED}", values)

    def close(self, name: str, now: int) -> None:
        """Close a mailbox at `now` (epoch seconds): nobody can sign in any more; its mail stays until it expires.

        If it was closed before, its closing time stays.
        """
        self._update(name, f"SET {CLOSED} = if_not_exists({CLOSED}, :now)", {":now": CLOSED.encode(now)})

    def revoke_tokens(self, name: str, now: int) -> None:
        """Revoke all tokens, and what was authorized until `now` (epoch seconds).

        Tokens are counted, not timed, because the clocks of instances differ.
        """
        known = self.sign_outs(name)
        values = {
            ":known": _SIGN_OUTS.encode(known),
            ":next": _SIGN_OUTS.encode(known + 1),
            ":now": _SIGNED_OUT_AT.encode(now),
        }
        # If the answer is lost, the SDK sends the same request again, which must not count again. If somebody else
        # signed out meanwhile, that revoked the same tokens.
        first = f"attribute_not_exists({_SIGN_OUTS}) OR {_SIGN_OUTS} = :known"
        self._update(name, f"SET {_SIGNED_OUT_AT} = :now, {_SIGN_OUTS} = :next", values, first)

    def sign_outs(self, name: str) -> int:
        """How many times all devices were signed out. Raises NotNowError(STORE_UNAVAILABLE)."""
        return self.find(name).sign_outs

    def settings(self, name: str) -> StoredSettings | None:
        """The current settings of a mailbox of the dm3 delivery service; None: it is not one."""
        row = self._row(DM3 + name)
        # The row of a mailbox that the operator removed has neither.
        if not row or not EXTENSION.is_in(row):
            return None
        return StoredSettings(EXTENSION.read(row), UNVERIFIED.read(row))

    def change_settings(self, name: str, old: StoredSettings, new: StoredSettings) -> bool:
        """Replace the settings `old` by `new`; False: `old` are no longer the current ones."""
        return self._table.update(
            _key(DM3 + name),
            f"SET {EXTENSION} = :extension, {UNVERIFIED} = :unverified",
            {
                ":extension": EXTENSION.encode(new.extension),
                ":unverified": UNVERIFIED.encode(new.unverified),
                ":old_extension": EXTENSION.encode(old.extension),
                ":old_unverified": UNVERIFIED.encode(old.unverified),
            },
            f"{EXTENSION} = :old_extension AND {UNVERIFIED} = :old_unverified",
        )

    def open_dm3(self, name: str, domain: str, most: int) -> Opening:
        """Open a mailbox of the dm3 delivery service for its owner, unless there is one.

        `domain`: under which it is counted, unless there was one; `most`: of such a domain, 0: unlimited. Raises
        NotNowError(STORE_UNAVAILABLE).
        """
        # Jobs read mailboxes, too, and do not have all modules that dm3 needs.
        from postroom.protocols.dm3.extension import ProfileExtension

        row = _key(DM3 + name) | item(
            EXTENSION.of(json.dumps(ProfileExtension().as_json())), UNVERIFIED.of(False), BY_OWNER.of(True)
        )
        values, fewer = {":one": _OPENED.encode(1)}, ""
        if most:
            values[":most"], fewer = _OPENED.encode(most), f"attribute_not_exists({_OPENED}) OR {_OPENED} < :most"
        counted = self._table.to_update(_key(OPENED + domain), f"ADD {_OPENED} :one", values, fewer)
        try:
            # Together, so that neither a death nor a lost answer counts a mailbox twice, or none.
            with transacting():
                self._dynamodb.transact_write_items(
                    TransactItems=[{"Put": self._table.to_put(row, ABSENT)}, {"Update": counted}]
                )
        except CancelledError as error:
            standing = self._row(DM3 + name)
            if standing is not None:
                return Opening.REMOVED if REMOVED.is_in(standing) else Opening.OPEN
            if error.codes[1:] == (CONDITION_FAILED,):
                return Opening.FULL
            raise NotNowError(
                STORE_UNAVAILABLE, "throttled, or another mailbox is being opened below this domain"
            ) from error
        return Opening.OPEN

    def is_of_dm3(self, name: str) -> bool:
        """Whether a mailbox is, or was, one of the dm3 delivery service. Raises NotNowError(STORE_UNAVAILABLE)."""
        return self._row(DM3 + name) is not None

    def find(self, name: str) -> MailboxRecord:
        """The current row of a mailbox. Raises NotNowError(STORE_UNAVAILABLE)."""
        return read_mailbox(name, self._row(PREFIX + name))

    def own_settings(self, name: str) -> str:
        """The settings of the owner of an NLWeb mailbox, as they are stored; empty: nothing yet."""
        return _own_of(self._row(PREFIX + name) or {})

    def change_own_settings(self, name: str, old: str, new: OwnSettings) -> bool:
        """Replace the owner's settings `old` by `new`; False: `old` are no longer the stored ones."""
        values = {":new": _OWN_SETTINGS.encode(new.encode())}
        if old:
            values[":old"] = _OWN_SETTINGS.encode(old)
        unchanged = f"{_OWN_SETTINGS} = :old" if old else f"attribute_not_exists({_OWN_SETTINGS})"
        return self._update(name, f"SET {_OWN_SETTINGS} = :new", values, unchanged)

    def raise_shards(self, name: str, shards: int) -> bool:
        """Raise the number of a mailbox's shards; False: it has as many or more (the number is never lowered)."""
        fewer = f"attribute_not_exists({_SHARDS}) OR {_SHARDS} < :shards"
        return self._update(name, f"SET {_SHARDS} = :shards", {":shards": _SHARDS.encode(shards)}, fewer)

    def set_quota(self, name: str, *, messages: int | None = None, size: int | None = None) -> None:
        """Set how many messages and bytes a mailbox may hold (0: unlimited); None: unchanged."""
        bounds = [(_MAX_MESSAGES, messages), (_MAX_BYTES, size)]
        given = {f":{bound.name}": (bound, most) for bound, most in bounds if most is not None}
        if given:
            change = "SET " + ", ".join(f"{bound} = {value}" for value, (bound, _) in given.items())
            self._update(name, change, {value: bound.encode(most) for value, (bound, most) in given.items()})

    def set_ttl(self, name: str, days: int) -> None:
        """Set how many days a mailbox keeps a message (0: for ever)."""
        self._update(name, f"SET {TTL_DAYS} = :days", {":days": TTL_DAYS.encode(days)})

    def hold(self, name: str) -> None:
        """Put a mailbox under legal hold: nothing in it expires, and no bytes are deleted."""
        marked = self._table.to_update(_key(PREFIX + name), f"SET {_HELD} = :true", {":true": _HELD.encode(True)})
        # In its own row, for reads of the mailbox; and in the list, for reads of all mailboxes under hold.
        with transient_as_not_now():
            self._dynamodb.transact_write_items(
                TransactItems=[{"Update": marked}, {"Put": self._table.to_put(_held(name))}]
            )

    def release(self, name: str) -> None:
        """Release a mailbox from legal hold."""
        unmarked = self._table.to_update(_key(PREFIX + name), f"REMOVE {_HELD}")
        with transient_as_not_now():
            self._dynamodb.transact_write_items(
                TransactItems=[{"Update": unmarked}, {"Delete": self._table.to_delete(_held(name))}]
            )

    def _row(self, pk: str) -> Item | None:
        return self._table.get(_key(pk))

    def _update(self, name: str, change: str, values: Values, condition: str = "") -> bool:
        return self._table.update(_key(PREFIX + name), change, values, condition)


def _closed_at(row: Item) -> int | None:
    """The closing time: a mailbox with the attribute is closed, whatever the value; a value that is not a time is 0."""
    try:
        at = CLOSED.find(row)
    except MalformedRowError:
        return 0
    return None if at is None else max(0, at)


def _own_of(row: Item) -> str:
    return _OWN_SETTINGS.find(row) or ""


def _key(pk: str) -> dict[str, Value]:
    return primary_key(pk, OWN_ROW)


def _held(name: str) -> Item:
    return primary_key(HELD, name)
