"""Checks of the domain's key records: proven, readable, and with keys that receivers accept."""

from dataclasses import dataclass
from typing import Final

import dns.name

from postroom.core.errors import NotNowError, TheirError
from postroom.crypto.reasons import KEY_RECORD_INVALID, KEY_UNUSABLE
from postroom.crypto.rsa_ed25519 import PublicKey
from postroom.doctor.checks import DoctorCheck, bad, good, not_found_out, skipped
from postroom.doctor.zone import NOT_CONFIRMED
from postroom.names.dns.records import TxtRecord
from postroom.names.dnssec import Indeterminate, Secure, Verdict
from postroom.names.keys import discard_of
from postroom.protocols.nlweb.key_record import parse_key_record
from postroom.protocols.nlweb.reasons import DNSSEC_BOGUS, KEY_NOT_FOUND, KEY_REVOKED, SENDER_NOT_SIGNED

_PUBLISH: Final = "publish the TXT record that `postroom keygen` prints at {}"
_TODO: Final = {
    KEY_NOT_FOUND: f"{_PUBLISH}, or name the selector that is in use: --selector",
    KEY_RECORD_INVALID: f"{_PUBLISH}, and no other key record",
    KEY_REVOKED: "publish another key under another selector, and sign with that one",
    KEY_UNUSABLE: "make another key, RSA of 2048 bits or Ed25519, with `postroom keygen`, and publish that one",
    SENDER_NOT_SIGNED: "sign the zone of {}, and publish its DS record in the parent zone",
    DNSSEC_BOGUS: "sign the zone of {} again",
}


@dataclass(frozen=True, slots=True)
class KeyFound:
    """The two checks of a selector, and the key if both are good."""

    selector: str
    record: DoctorCheck
    strength: DoctorCheck
    key: PublicKey | None = None


def judge_key(selector: str, owner: dns.name.Name, verdict: Verdict) -> KeyFound:
    """The checks `key record …` and `key …`, from the verdict on the TXT records at `owner`."""
    record, strength = f"key record {selector}", f"key {selector}"
    name = owner.to_text(omit_final_dot=True)
    rests = skipped(strength, "its record could not be confirmed")
    if isinstance(verdict, Indeterminate):
        return KeyFound(selector, not_found_out(record, NotNowError(verdict.reason, verdict.why)), rests)
    there = good(record, f"there is one at {name}")
    try:
        if not isinstance(verdict, Secure):
            raise discard_of(owner, verdict)
        key = parse_key_record([b"".join(it.strings) for it in verdict.records if isinstance(it, TxtRecord)])
    except TheirError as wrong:
        todo = _TODO[wrong.reason].format(name)
        if wrong.reason == KEY_UNUSABLE:
            return KeyFound(selector, there, bad(strength, wrong.reason, wrong.detail, todo))
        return KeyFound(selector, bad(record, wrong.reason, wrong.detail, todo), rests)
    kind = "Ed25519" if key.algorithm == "ed25519" else f"RSA of {key.bits} bits"
    return KeyFound(selector, there, good(strength, f"{kind}, {key.fingerprint}"), key)


def unknown(selector: str) -> KeyFound:
    """The same checks, if the zone is not good: then no record in it is trusted."""
    return KeyFound(
        selector, skipped(f"key record {selector}", NOT_CONFIRMED), skipped(f"key {selector}", NOT_CONFIRMED)
    )
