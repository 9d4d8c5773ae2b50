"""The profile extension, filter rules and properties of a delivery service.

See dm3 §2.3.2, §2.3.3; decisions "Profile extension" and "Message TTL". The reference answers both methods with JSON
text where the text of dm3 has objects, and lists the message types that a receiver does not accept. Both forms are read
here; only the text's is written.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from postroom.core.errors import SettingsError, TheirError
from postroom.core.ijson import MAX_EXACT_INTEGER, JsonValue, parse
from postroom.core.reasons import SENDER_NOT_WANTED
from postroom.protocols.dm3.dialect import TYPE_ALIASES
from postroom.protocols.dm3.message import MessageType
from postroom.protocols.dm3.names import normalize
from postroom.protocols.dm3.reasons import PROFILE_INVALID
from postroom.protocols.dm3.sealing import SCHEME

MIN_MESSAGE_TTL_DAYS: Final = 30
"""The least that a delivery service must promise, if it sets a limit at all (dm3 §2.3.2)."""
MAX_TEXT_BYTES: Final = 1 << 20
"""The largest extension, or properties, that come as JSON text."""

_AMOUNT: Final = re.compile(r"0[xX][0-9a-fA-F]{1,64}|[0-9]{1,78}", re.ASCII)
_ADDRESS: Final = re.compile(r"0x[0-9a-fA-F]{40}", re.ASCII)
_SCHEME_MEMBERS: Final = ("encryptionScheme", "encryptionAlgorithm")
"""The name in the text, and that of the reference."""
MEMBERS: Final = (*_SCHEME_MEMBERS, "supportedMessageTypes", "notSupportedMessageTypes", "spamFilterRules")
CHAIN_RULES: Final = ("minNonce", "minBalance", "minTokenBalance")
"""The rules for which a sender's account must be looked up on a chain."""
RULES: Final = (*CHAIN_RULES, "allow", "block")
TOKEN_MEMBERS: Final = ("address", "amount")


@dataclass(frozen=True, slots=True)
class TokenBalance:
    """An ERC-20 contract, 0x and 40 hex digits, and how much of the token a sender must have, in its smallest unit.

    Raises TheirError(PROFILE_INVALID).
    """

    address: str
    amount: int

    def __post_init__(self) -> None:
        if not _ADDRESS.fullmatch(self.address):
            raise _invalid("minTokenBalance.address is not 0x and 40 hex digits")
        _check_amount(self.amount, "minTokenBalance.amount")


@dataclass(frozen=True, slots=True)
class FilterRules:
    """The senders that a receiver accepts (decision "Profile extension").

    `min_nonce`: transactions the sender's account has made; `min_balance`: wei. `allow`, `block`: names, normalised
    when the rules are created. Raises TheirError: NAME_INVALID, or PROFILE_INVALID for a number out of range.
    """

    min_nonce: int | None = None
    min_balance: int | None = None
    min_token_balance: TokenBalance | None = None
    allow: tuple[str, ...] = ()
    block: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.min_nonce is not None and not 0 <= self.min_nonce <= MAX_EXACT_INTEGER:
            raise _invalid("minNonce is not from 0 to 2^53-1")
        if self.min_balance is not None:
            _check_amount(self.min_balance, "minBalance")
        object.__setattr__(self, "allow", _each_once(map(normalize, self.allow)))
        object.__setattr__(self, "block", _each_once(map(normalize, self.block)))

    @property
    def asks_a_chain(self) -> bool:
        """Whether the sender's account decides; a rule of at least 0 needs no account, and a list of allowed senders
        leaves nothing to decide."""
        token = self.min_token_balance
        return not self.allow and bool(self.min_nonce or self.min_balance or (token and token.amount))

    @property
    def want_verified(self) -> bool:
        """Whether nobody is accepted whose signature was not verified."""
        return bool(self.allow) or self.asks_a_chain

    def as_json(self) -> dict[str, JsonValue]:
        """The rules that are set. Amounts are decimal strings, as in the reference: most are larger than 2^53."""
        members: dict[str, JsonValue] = {}
        if self.min_nonce is not None:
            members["minNonce"] = self.min_nonce
        if self.min_balance is not None:
            members["minBalance"] = str(self.min_balance)
        if self.min_token_balance is not None:
            token = self.min_token_balance
            members["minTokenBalance"] = {"address": token.address, "amount": str(token.amount)}
        if self.allow:
            members["allow"] = list(self.allow)
        if self.block:
            members["block"] = list(self.block)
        return members


def check_sender(rules: FilterRules, sender: str, *, verified: bool = True) -> None:
    """Apply the rules to a sender's name. `verified`: its signature was verified.

    A blocked sender is refused, even if allowed. If there is a list of allowed senders, no others are accepted. An
    unverified name is never an allowed one, and has no account. If the rules ask a chain, the sender's account decides.
    Raises TheirError: SENDER_NOT_WANTED, NAME_INVALID.
    """
    name = normalize(sender)
    if name in rules.block:
        raise TheirError(SENDER_NOT_WANTED, "the receiver blocks this sender")
    if verified and name in rules.allow:
        return
    if rules.allow:
        raise TheirError(SENDER_NOT_WANTED, "the receiver takes messages from certain senders only")
    if rules.asks_a_chain and not verified:
        raise TheirError(SENDER_NOT_WANTED, "the receiver wants an account, and the sender is not verified")


@dataclass(frozen=True, slots=True)
class ProfileExtension:
    """What senders must know of a receiver (dm3 §2.3.3). NEW and the default encryption scheme are always included.

    `encryption_schemes`: in the receiver's order of preference. `message_types`: the text's names, or others.
    """

    encryption_schemes: tuple[str, ...] = (SCHEME,)
    message_types: tuple[str, ...] = (MessageType.NEW,)
    rules: FilterRules = field(default_factory=FilterRules)

    def __post_init__(self) -> None:
        # As plain strings: members of an enumeration would be equal, but have another repr.
        types = (str(TYPE_ALIASES.get(name, name)) for name in self.message_types)
        object.__setattr__(self, "message_types", _each_once((str(MessageType.NEW), *types)))
        object.__setattr__(self, "encryption_schemes", _each_once((*self.encryption_schemes, SCHEME)))

    def as_json(self) -> dict[str, JsonValue]:
        """The answer to dm3_getProfileExtension; with `spamFilterRules` if there are rules."""
        members: dict[str, JsonValue] = {
            "encryptionScheme": list(self.encryption_schemes),
            "supportedMessageTypes": list(self.message_types),
        }
        if rules := self.rules.as_json():
            members["spamFilterRules"] = rules
        return members


def read_extension(value: JsonValue) -> ProfileExtension:
    """Read an extension in either form, as an object or as JSON text; unknown members are ignored.

    A member that is null counts as absent. Raises TheirError: PROFILE_INVALID, or NAME_INVALID in the rules' lists.
    """
    members = _answer(value, "the profile extension")
    schemes = next((members[name] for name in _SCHEME_MEMBERS if members.get(name) is not None), None)
    types = _strings(members.get("supportedMessageTypes"), "supportedMessageTypes")
    refused = members.get("notSupportedMessageTypes")
    if members.get("supportedMessageTypes") is None and refused is not None:
        names = {TYPE_ALIASES.get(name, name) for name in _strings(refused, "notSupportedMessageTypes")}
        types = tuple(name for name in MessageType if name not in names)
    return ProfileExtension(_strings(schemes, "encryptionScheme"), types, _read_rules(members.get("spamFilterRules")))


@dataclass(frozen=True, slots=True)
class Properties:
    """All properties that our delivery service publishes (dm3 §2.3.2).

    `message_ttl_days`: 0 for ever, or at least `MIN_MESSAGE_TTL_DAYS`. `size_limit_bytes`: of an envelope as received.
    Raises SettingsError.
    """

    message_ttl_days: int
    size_limit_bytes: int

    def __post_init__(self) -> None:
        if self.message_ttl_days and self.message_ttl_days < MIN_MESSAGE_TTL_DAYS:
            raise SettingsError(
                f"messages are kept for {self.message_ttl_days} days; dm3 wants at least {MIN_MESSAGE_TTL_DAYS}, or 0: "
                "for ever"
            )
        if self.size_limit_bytes < 1:
            raise SettingsError(f"envelopes of at most {self.size_limit_bytes} bytes are taken; none is so small")

    def as_json(self) -> dict[str, JsonValue]:
        """The answer to dm3_getDeliveryServiceProperties."""
        return {"messageTTL": self.message_ttl_days, "sizeLimit": self.size_limit_bytes}


def read_size_limit(value: JsonValue) -> int | None:
    """The `sizeLimit` (bytes of an envelope) of a delivery service's properties, an object or JSON text; None: none.

    Raises TheirError(PROFILE_INVALID).
    """
    limit = _answer(value, "the delivery service's properties").get("sizeLimit")
    if limit is None:
        return None
    if type(limit) is not int or limit < 0:
        raise _invalid("sizeLimit is not a number of bytes")
    return limit


def _read_rules(value: JsonValue) -> FilterRules:
    if value is None:
        return FilterRules()
    members = _object(value, "spamFilterRules")
    nonce, balance, token = (members.get(name) for name in CHAIN_RULES)
    # In Python a boolean is an int, but it is not a valid number.
    if nonce is not None and type(nonce) is not int:
        raise _invalid("minNonce is not an integer")
    return FilterRules(
        nonce,
        None if balance is None else _amount(balance, "minBalance"),
        None if token is None else _token(token),
        _strings(members.get("allow"), "allow"),
        _strings(members.get("block"), "block"),
    )


def _token(value: JsonValue) -> TokenBalance:
    members = _object(value, "minTokenBalance")
    address = members.get("address")
    if not isinstance(address, str):
        raise _invalid("minTokenBalance.address is missing or not a string")
    return TokenBalance(address, _amount(members.get("amount"), "minTokenBalance.amount"))


def _amount(value: JsonValue, what: str) -> int:
    """An amount as the reference's library reads it: a number, or a string of decimal digits or of 0x and hex."""
    if type(value) is int:
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)  # beyond 2^53
    if isinstance(value, str) and _AMOUNT.fullmatch(value):
        return int(value, 16 if value[:2].lower() == "0x" else 10)
    raise _invalid(f"{what} is neither an integer nor a string of decimal or 0x-hex digits")


def _check_amount(amount: int, what: str) -> None:
    if not 0 <= amount < 1 << 256:
        raise _invalid(f"{what} is not from 0 to 2^256-1")


def _answer(value: JsonValue, what: str) -> dict[str, JsonValue]:
    """The object of an answer, or the one in its JSON text."""
    if isinstance(value, str):
        try:
            value = parse(value.encode(errors="replace"), max_bytes=MAX_TEXT_BYTES)
        except TheirError as error:
            raise _invalid(f"{what}: {error.detail}") from None
    return _object(value, what)


def _object(value: JsonValue, what: str) -> dict[str, JsonValue]:
    if not isinstance(value, dict):
        raise _invalid(f"{what} is not a JSON object")
    return value


def _strings(value: JsonValue, what: str) -> tuple[str, ...]:
    if value is None:
        return ()
    if isinstance(value, list):
        strings = tuple(item for item in value if isinstance(item, str))
        if len(strings) == len(value):
            return strings
    raise _invalid(f"{what} is not an array of strings")


def _each_once(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


def _invalid(detail: str) -> TheirError:
    return TheirError(PROFILE_INVALID, detail)
