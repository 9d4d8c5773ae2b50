"""Registries of dm3 names (dm3 §2.1). ENS is one; the two in this module are documents.

Names are given and stored in their normalised form by ENSIP-15.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Final, Protocol

from postroom.core.errors import NotNowError, SettingsError, TheirError
from postroom.core.ijson import JsonValue, parse
from postroom.core.reason import Reason
from postroom.core.reasons import NOT_JSON
from postroom.protocols.dm3.names import normalize
from postroom.protocols.dm3.reasons import PROFILE_LOOKUP_FAILED

PROFILE_KEY: Final = "network.dm3.profile"
SERVICE_KEY: Final = "network.dm3.deliveryService"
ADDRESS_KEY: Final = "addr"
"""The address that a name has on Ethereum (ENSIP-1), as 0x and its digits: in ENS only."""
FRESH_SECONDS: Final = 2
"""Forged mail must not make us read a registry all the time."""
PINNED_SECONDS: Final = 30
"""The operator's document is read again after so long."""
MIN_TEXT_SECONDS: Final = 60
MAX_TEXT_SECONDS: Final = 3600
"""A text of ENS or DNS is kept for as long as is published with it, within these."""
ABSENT_SECONDS: Final = 30
"""For which ENS or DNS may keep that a name is not there: it is often published soon. The profile that is missing is
cached for as long, too."""
MAX_DOCUMENT_BYTES: Final = 1 << 20
"""Enough for some 4,000 names with a profile each."""

_EVIDENCE: Final = {"registry": "pinned"}
_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RegistryText:
    """What a registry says of a name and a key.

    `value`: the text; "": the name is in this registry, and has no such text; None: the name is not in it. `seconds`:
    for which it may be kept. `evidence`: how it was found: at most 400 bytes as JSON, without any name.
    """

    value: str | None
    seconds: float
    evidence: "Mapping[str, JsonValue]"


class Registry(Protocol):
    """A registry: texts by name and key."""

    def text(self, name: str, key: str, *, fresh: bool = False) -> RegistryText:
        """The text of a normalised name. `fresh`: read now, or seconds ago.

        Raises NotNowError(PROFILE_LOOKUP_FAILED), or TheirError: what is published at the name is wrong.
        """
        ...


class MemoryRegistry:
    """A registry in memory: name → key → text. `keep_seconds`: for which its texts may be kept."""

    def __init__(self, texts: Mapping[str, Mapping[str, str]] | None = None, keep_seconds: float = 300) -> None:
        """Raises TheirError(NAME_INVALID)."""
        self._texts = {normalize(name): dict(entry) for name, entry in (texts or {}).items()}
        self._keep_seconds = keep_seconds

    def text(self, name: str, key: str, *, fresh: bool = False) -> RegistryText:  # noqa: ARG002 - it is always fresh
        """The text."""
        return _text_in(self._texts, name, key, self._keep_seconds)

    def put(self, name: str, key: str, text: str) -> None:
        """Write a text, in place of an existing one. Raises TheirError(NAME_INVALID)."""
        self._texts.setdefault(normalize(name), {})[key] = text


def parse_registry(data: bytes) -> dict[str, dict[str, str]]:
    """Read a document `{name: {network.dm3.profile: uri, network.dm3.deliveryService: uri}}`, YAML or JSON.

    The names are returned normalised; a name may have either of the two, or both. Raises SettingsError, which says
    where the fault is, without quoting: the operator's text is private, the fault is not.
    """
    if len(data) > MAX_DOCUMENT_BYTES:
        raise _broken(f"has {len(data)} bytes; at most {MAX_DOCUMENT_BYTES} are read")
    root = _read(data)
    if not isinstance(root, dict):
        raise _broken("is not a mapping of names")
    texts: dict[str, dict[str, str]] = {}
    for place, (written, entry) in enumerate(root.items(), start=1):
        try:
            name = normalize(str(written))
        except TheirError as error:
            raise _broken(f"has no name that can be read at entry {place}: {error.detail}") from None
        if name in texts:
            raise _broken(f"has the name of entry {place} before, too: both are the same to ENSIP-15")
        texts[name] = _entry(entry, place)
    return texts


@dataclass(frozen=True, slots=True)
class _CachedRegistry:
    """The last document and its texts, or why there are none, and when it was read, epoch seconds."""

    data: bytes
    texts: Mapping[str, Mapping[str, str]] | None
    why: str
    read_at: float
    reason: Reason = PROFILE_LOOKUP_FAILED


class PinnedRegistry:
    """A registry that an operator writes: a document, by itself or in front of another registry. Safe to share.

    `load` returns the document's bytes, or raises NotNowError or OSError. It is called again `keep_seconds` after the
    last call, not sooner, however often it fails. If a new document is unavailable or malformed, this is logged, and
    the old one stays. `clock`: epoch seconds.
    """

    def __init__(
        self, load: Callable[[], bytes], clock: Callable[[], float], keep_seconds: float = PINNED_SECONDS
    ) -> None:
        self._load = load
        self._clock = clock
        self._keep_seconds = keep_seconds
        self._held = _CachedRegistry(b"", None, "", read_at=float("-inf"))
        self._lock = Lock()

    def text(self, name: str, key: str, *, fresh: bool = False) -> RegistryText:
        """The text. Raises NotNowError if no document could be read yet.

        The reason is PROFILE_LOOKUP_FAILED with the place of the fault, or that of `load`.
        """
        with self._lock:
            if self._clock() >= self._held.read_at + (FRESH_SECONDS if fresh else self._keep_seconds):
                self._held = self._read()
            held = self._held
        if held.texts is None:
            raise NotNowError(held.reason, held.why)
        return _text_in(held.texts, name, key, self._keep_seconds)

    def _read(self) -> _CachedRegistry:
        old, reason = self._held, PROFILE_LOOKUP_FAILED
        try:
            data = self._load()
            # Usually nothing has changed, and parsing YAML takes time.
            texts = old.texts if old.texts is not None and data == old.data else parse_registry(data)
            return _CachedRegistry(data, texts, "", self._clock())
        except NotNowError as error:
            why, reason = error.detail or error.reason.sentence, error.reason
        except OSError as error:
            why = f"the registry document cannot be read: {error.strerror or 'no reason was given'}"
        except SettingsError as error:
            why = str(error)
        _log.error(
            "%s; %s",
            why,
            "no name is known until it can be read" if old.texts is None else "the old one stays",
        )
        return _CachedRegistry(old.data, old.texts, why, self._clock(), reason)


def _read(data: bytes) -> object:
    """JSON if possible, otherwise YAML. YAML reads JSON, too, but reads each half of a surrogate pair by itself."""
    try:
        return parse(data, max_bytes=MAX_DOCUMENT_BYTES)
    except TheirError as error:
        if error.reason != NOT_JSON:
            raise _broken(f"is JSON with a fault: {error.detail}") from None
    # Few processes need dm3, and JSON needs no YAML parser: imported only for a YAML document.
    import yaml

    from postroom.names.documents import FAULTS, MAX_DEPTH, UniqueStrings

    try:
        return yaml.load(data, UniqueStrings)  # noqa: S506 - makes strings, lists and dicts only
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = f"line {mark.line + 1}, column {mark.column + 1}" if mark else "its end"
        form = f"no aliases, each name once, at most {MAX_DEPTH} levels deep"
        raise _broken(f"is not plain YAML ({form}), at {place}") from None
    except FAULTS:
        raise _broken("is not plain YAML in UTF-8") from None


def _entry(entry: object, place: int) -> dict[str, str]:
    if not isinstance(entry, dict) or not entry:
        raise _broken(f"has no mapping of {PROFILE_KEY} and {SERVICE_KEY} at entry {place}")
    texts: dict[str, str] = {}
    for key, text in entry.items():
        if key not in (PROFILE_KEY, SERVICE_KEY):
            raise _broken(f"has another member than {PROFILE_KEY} and {SERVICE_KEY} at entry {place}")
        if not isinstance(text, str) or not text:
            raise _broken(f"has no text as {key} at entry {place}")
        texts[key] = text
    return texts


def _text_in(texts: Mapping[str, Mapping[str, str]], name: str, key: str, keep_seconds: float) -> RegistryText:
    value = texts[name].get(key, "") if name in texts else None
    return RegistryText(value, keep_seconds, _EVIDENCE)


def _broken(what: str) -> SettingsError:
    return SettingsError(f"the registry document {what}")
