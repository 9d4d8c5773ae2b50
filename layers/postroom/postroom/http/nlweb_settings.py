"""Settings of NLWeb mailboxes by their owners: blocked senders, and Subjects for other mailboxes.

The form in which they are stored only allows rules pattern → mailbox: handlers, queues and buses are set by the
operator, whose rows are read here, and never written.
"""

from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Final, Protocol

from msgspec import UNSET

from postroom.api.mailbox_names import a_labels, read_mailbox_of
from postroom.api.reasons import CHANGED_MEANWHILE, SETTING_INVALID, SUBJECT_OF_OPERATOR
from postroom.api.schemas import OperatorsSubject, Settings, SettingsChange
from postroom.core.errors import TheirError
from postroom.protocols.nlweb.blocks import read_block
from postroom.protocols.nlweb.envelope import MAX_SUBJECT
from postroom.protocols.nlweb.subjects import BUILT_IN, SubjectRule, Treatment, find_rule, is_pattern
from postroom.storage.directory.domains import Dm3Mailbox, Domain
from postroom.storage.directory.mailboxes import Mailboxes, MailboxRecord, OwnSettings, read_own_settings

MAX_OWN_BYTES: Final = 32_768
"""The largest stored size: the inbox and the worker read them with the mailbox."""


class SettingsDirectory(Protocol):
    """The directory of domains and mailboxes."""

    def domain(self, name: str) -> Domain | None:
        """A domain and its operator's rules; None: it is not served here."""
        ...

    def mailbox(self, name: str) -> MailboxRecord:
        """The keys and settings of a mailbox."""
        ...

    def dm3_mailbox(self, name: str) -> Dm3Mailbox | None:
        """The settings of a mailbox of the delivery service; None: it is not one."""
        ...


class NlwebSettings:
    """Reads and changes the settings."""

    def __init__(self, mailboxes: Mailboxes, directory: SettingsDirectory) -> None:
        self._mailboxes = mailboxes
        self._directory = directory

    def get(self, mailbox: str) -> tuple[Settings, str]:
        """The settings and their ETag. Raises NotNowError(STORE_UNAVAILABLE)."""
        return self._with_etag(mailbox, self._mailboxes.own_settings(mailbox))

    def change(self, mailbox: str, change: SettingsChange, if_match: str) -> tuple[Settings, str]:
        """Apply `change` if `if_match` is the ETag of the current settings. Returns the new settings and their ETag.

        Raises TheirError: CHANGED_MEANWHILE, SETTING_INVALID, SUBJECT_OF_OPERATOR; NotNowError(STORE_UNAVAILABLE).
        """
        stored = self._mailboxes.own_settings(mailbox)
        if change.extension is not UNSET or change.unverified is not UNSET:
            raise TheirError(SETTING_INVALID, "extension and unverified are settings of dm3 mailboxes")
        if if_match not in ("*", _etag(stored)):
            raise TheirError(CHANGED_MEANWHILE)
        old = read_own_settings(stored)
        changed = OwnSettings(
            old.blocks if change.blocks is UNSET else _read_blocks(change.blocks),
            old.subjects if change.subjects is UNSET else self._merged(mailbox, old.subjects, change.subjects),
        )
        length = len(changed.encode())
        if length > MAX_OWN_BYTES:
            raise TheirError(SETTING_INVALID, f"the settings have {length} bytes; at most {MAX_OWN_BYTES} are kept")
        if not self._mailboxes.change_own_settings(mailbox, stored, changed):
            raise TheirError(CHANGED_MEANWHILE)
        return self._with_etag(mailbox, changed.encode())

    def _merged(self, name: str, old: Mapping[str, str], change: Mapping[str, str | None]) -> dict[str, str]:
        domain = self._directory.domain(name)
        if domain is None:
            raise TheirError(SETTING_INVALID, f"subjects: {name} is not a domain that is served here")
        operators = {rule.pattern: rule for rule in _rules_of_operator(domain)}
        subjects = dict(old)
        for pattern, target in change.items():
            theirs = operators.get(pattern) if target is None else find_rule(pattern, domain.subjects)
            if target is None and pattern in old:
                del subjects[pattern]
            elif theirs and (target is None or theirs.treatment is not Treatment.MAILBOX):
                raise TheirError(SUBJECT_OF_OPERATOR, f"subjects: {pattern}")
            elif target is not None:
                subjects[_read_pattern(pattern)] = self._read_target(name, target)
        return subjects

    def _read_target(self, domain: str, text: str) -> str:
        try:
            name = read_mailbox_of(domain, text)
            if name == domain or self._is_below(domain, name):
                return name
        except TheirError:
            pass
        raise TheirError(
            SETTING_INVALID,
            f"subjects: {text[:80]!r} must be {domain} itself, or a name below it whose mailbox is open here",
        )

    def _is_below(self, domain: str, name: str) -> bool:
        """Whether a mailbox below the domain has an owner who reads NLWeb messages."""
        if not a_labels(name).endswith(f".{domain}") or self._directory.dm3_mailbox(name) is not None:
            return False
        mailbox = self._directory.mailbox(name)
        return bool(mailbox.keys) and not mailbox.closed

    def _with_etag(self, mailbox: str, stored: str) -> tuple[Settings, str]:
        own, domain = read_own_settings(stored), self._directory.domain(mailbox)
        settings = Settings(blocks=list(own.blocks))
        if domain is not None:
            theirs = {rule.pattern: _shown(rule) for rule in _rules_of_operator(domain)}
            settings = Settings(blocks=list(own.blocks), subjects=dict(own.subjects), operators_subjects=theirs)
        return settings, _etag(stored)


def _rules_of_operator(domain: Domain) -> tuple[SubjectRule, ...]:
    return (*BUILT_IN, *domain.subjects)


def _read_pattern(text: str) -> str:
    if len(text) <= MAX_SUBJECT and is_pattern(text):
        return text
    raise TheirError(
        SETTING_INVALID,
        f"subjects: {text[:80]!r} is not a pattern: use Method@Role or a name, with * only for a whole part",
    )


def _shown(rule: SubjectRule) -> OperatorsSubject:
    # An owner cannot use the name of the handler or queue.
    return OperatorsSubject(rule.treatment, rule.target if rule.treatment is Treatment.MAILBOX else "")


def _read_blocks(texts: Iterable[str]) -> tuple[str, ...]:
    try:
        return tuple(dict.fromkeys(map(read_block, texts)))
    except TheirError as error:
        raise TheirError(SETTING_INVALID, f"blocks: {error.detail}") from None


def _etag(stored: str) -> str:
    return f'"{sha256(stored.encode()).hexdigest()[:32]}"'
