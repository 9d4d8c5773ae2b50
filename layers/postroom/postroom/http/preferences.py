"""Settings of mailboxes by their owners, NLWeb and dm3; the inbox applies a change within a minute."""

import json
from collections.abc import Callable, Sequence
from typing import Final

from msgspec import UNSET

from postroom.api.reasons import CHANGED_MEANWHILE, MATCH_NEEDED, NOT_A_REQUEST, SETTING_INVALID
from postroom.api.schemas import Settings, SettingsChange
from postroom.core.errors import TheirError
from postroom.core.ijson import JsonValue
from postroom.http.nlweb_settings import NlwebSettings
from postroom.protocols.dm3.extension import (
    CHAIN_RULES,
    MEMBERS,
    RULES,
    TOKEN_MEMBERS,
    ProfileExtension,
    read_extension,
)
from postroom.protocols.dm3.sealing import SCHEME
from postroom.storage.directory.mailboxes import Mailboxes, StoredSettings

MAX_EXTENSION_BYTES: Final = 32_768
"""The largest size in JSON: the inbox reads the settings for every message, and tells them to anyone who asks."""


class Preferences:
    """Reads and changes settings: those of dm3 mailboxes here, those of NLWeb mailboxes by `messages`.

    `has_chain`: whether a chain can be asked for senders' accounts; it may raise NotNowError.
    """

    def __init__(self, mailboxes: Mailboxes, messages: NlwebSettings, has_chain: Callable[[], bool]) -> None:
        self._mailboxes = mailboxes
        self._messages = messages
        self._has_chain = has_chain

    def get(self, mailbox: str) -> tuple[Settings, str]:
        """The settings and their ETag. Raises NotNowError(STORE_UNAVAILABLE)."""
        stored = self._mailboxes.settings(mailbox)
        return self._messages.get(mailbox) if stored is None else _with_etag(stored)

    def change(self, mailbox: str, change: SettingsChange, if_match: str) -> tuple[Settings, str]:
        """Apply `change` if `if_match` is the ETag of the current settings. Returns the new settings and their ETag.

        Raises TheirError: MATCH_NEEDED, CHANGED_MEANWHILE, NOT_A_REQUEST, SETTING_INVALID, SUBJECT_OF_OPERATOR;
        NotNowError(STORE_UNAVAILABLE), and as `has_chain` does.
        """
        if not if_match:
            raise TheirError(MATCH_NEEDED)
        stored = self._mailboxes.settings(mailbox)
        if stored is None:
            return self._messages.change(mailbox, change, if_match)
        if change.blocks is not UNSET or change.subjects is not UNSET:
            raise TheirError(
                SETTING_INVALID,
                "blocks and subjects are settings of NLWeb mailboxes; senders of dm3 messages are blocked by "
                "extension.spamFilterRules.block",
            )
        if if_match not in ("*", _etag(stored)):
            raise TheirError(CHANGED_MEANWHILE)
        extension = stored.extension
        if change.extension is not UNSET:
            before = json.loads(extension)
            merged = _read(_merged(before, change.extension))
            _check_change(change.extension)
            self._check_rules(read_extension(before), merged)
            extension = json.dumps(merged.as_json())
        if len(extension) > MAX_EXTENSION_BYTES:
            raise TheirError(
                NOT_A_REQUEST, f"extension has {len(extension)} bytes; at most {MAX_EXTENSION_BYTES} are kept"
            )
        unverified = stored.unverified if change.unverified is UNSET else change.unverified
        changed = StoredSettings(extension, unverified)
        if not self._mailboxes.change_settings(mailbox, stored, changed):
            raise TheirError(CHANGED_MEANWHILE)
        return _with_etag(changed)

    def _check_rules(self, before: ProfileExtension, after: ProfileExtension) -> None:
        """Raises TheirError(SETTING_INVALID) if a change sets a rule about accounts, and no chain can be asked."""
        old, new = before.rules.as_json(), after.rules.as_json()
        for name in CHAIN_RULES:
            rule = {name: new.get(name)}
            asks = new.get(name) != old.get(name) and read_extension({"spamFilterRules": rule}).rules.asks_a_chain
            if asks and not self._has_chain():
                raise TheirError(
                    SETTING_INVALID,
                    f"extension.spamFilterRules.{name} cannot be checked: this post office has no endpoints of a chain",
                )


def _read(value: JsonValue) -> ProfileExtension:
    try:
        extension = read_extension(value)
    except TheirError as error:
        raise TheirError(NOT_A_REQUEST, f"extension: {error.detail or error.reason.sentence}") from None
    # Senders would use it, and the inbox would refuse their messages.
    if extension.encryption_schemes != (SCHEME,):
        raise TheirError(SETTING_INVALID, f"extension: the only encryptionScheme that is accepted is {SCHEME}")
    return extension


def _check_change(change: JsonValue) -> None:
    """Raises TheirError(SETTING_INVALID) if a change sets what has no effect."""
    members = change if isinstance(change, dict) else {}
    rules = members.get("spamFilterRules")
    _check_names(members, MEMBERS, "extension")
    _check_names(rules, RULES, "extension.spamFilterRules")
    if isinstance(rules, dict):
        _check_names(rules.get("minTokenBalance"), TOKEN_MEMBERS, "extension.spamFilterRules.minTokenBalance")


def _check_names(members: JsonValue, known: Sequence[str], where: str) -> None:
    for name in members if isinstance(members, dict) else ():
        if name not in known:
            raise TheirError(SETTING_INVALID, f"{where}.{name[:80]} is not known; use {', '.join(known)}")


def _merged(value: JsonValue, change: JsonValue) -> JsonValue:
    """A value with a merge patch applied to it (RFC 7396 §2)."""
    if not isinstance(change, dict):
        return change
    members = dict(value) if isinstance(value, dict) else {}
    for name, wanted in change.items():
        members[name] = _merged(members.get(name), wanted)
    return {name: member for name, member in members.items() if member is not None}


def _with_etag(stored: StoredSettings) -> tuple[Settings, str]:
    return Settings(json.loads(stored.extension), stored.unverified), _etag(stored)


def _etag(stored: StoredSettings) -> str:
    return f'"{stored.mark}"'
