"""The order of an examination; checks that depend on a failed one are skipped."""

from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import dns.name
from dns.rdatatype import DNSKEY, DS, SOA, TXT

from postroom.client import Sender
from postroom.core.errors import TheirError
from postroom.core.ijson import JsonValue
from postroom.crypto.rsa_ed25519 import PrivateKey
from postroom.doctor.answers import SUBJECT, judge_round_trip
from postroom.doctor.checks import DoctorCheck, bad, skipped
from postroom.doctor.dm3_record import DM3_RECORD, invalid, judge_profiles, judge_record, without_gateway
from postroom.doctor.keys import KeyFound, judge_key, unknown
from postroom.doctor.network import ExaminerNetwork
from postroom.doctor.post_office import PostOffice, attempt
from postroom.doctor.zone import NOT_CONFIRMED, ZoneFound, judge_zone
from postroom.names.dm3_records import name_of_host, owner_name
from postroom.names.dnssec import Absent, Bogus, Secure, Verdict
from postroom.names.uris import scheme_of
from postroom.protocols.nlweb.reasons import SIGNATURE_INVALID
from postroom.protocols.nlweb.schema import Dialect

_BUFFER: Final = "feedback buffer"


@dataclass(frozen=True, slots=True)
class Patient:
    """The domain to examine.

    `selectors`: of its keys. `signing`: the key for a message to itself, if one is to be sent.
    """

    domain: str
    dialect: Dialect
    selectors: tuple[str, ...]
    signing: PrivateKey | None = None


def examine(patient: Patient, outside: ExaminerNetwork) -> Iterator[DoctorCheck]:
    """All checks, as they are made. Nothing is raised, whatever others have set up."""
    keys = yield from _names(patient, outside)
    post_office = PostOffice(patient.dialect.host(patient.domain), outside)
    reached = yield from post_office.reach()
    yield (inbox := post_office.inbox() if reached else post_office.unreached("inbox"))
    yield (manifest := post_office.manifest() if reached else post_office.unreached("manifest"))
    if post_office.buffer:
        yield _buffer(patient.dialect.host(post_office.buffer), outside)
    elif not manifest.is_good:
        yield skipped(_BUFFER, "the manifest could not be checked")
    yield post_office.guardian() if reached else post_office.unreached("DCP")
    if patient.signing:
        yield _round_trip(patient, patient.signing, keys, outside, inbox)


def _names(patient: Patient, outside: ExaminerNetwork) -> Generator[DoctorCheck, None, list[KeyFound]]:
    """The zone, and the key records in it."""
    place = dns.name.from_text(patient.domain)
    zone = ZoneFound(patient.domain, outside.look_up(place, SOA))
    if isinstance(zone.soa, Bogus):
        zone = replace(zone, ds=outside.look_up(place, DS), dnskey=outside.look_up(place, DNSKEY))
    dm3_owner = owner_name(name_of_host(patient.domain))
    dm3 = outside.look_up(dns.name.from_text(dm3_owner), TXT) if dm3_owner and zone.is_good else None
    owners = {it: dns.name.from_text(patient.dialect.key_name(patient.domain, it)) for it in patient.selectors}
    verdicts = {it: outside.look_up(owner, TXT) for it, owner in owners.items()} if zone.is_good else {}
    proven = [dm3] if isinstance(dm3, Secure) else []
    yield from judge_zone(zone, [*verdicts.values(), *proven], outside.clock())
    keys = [judge_key(it, owners[it], verdicts[it]) if it in verdicts else unknown(it) for it in owners]
    for key in keys:
        yield key.record
        yield key.strength
    if dm3_owner and dm3:
        yield from _dm3_record(dm3_owner, dm3, outside)
    elif dm3_owner and not isinstance(zone.soa, Absent):
        yield skipped(DM3_RECORD, NOT_CONFIRMED)
    return keys


def _dm3_record(owner: str, verdict: Verdict, outside: ExaminerNetwork) -> Iterator[DoctorCheck]:
    """The check `dm3 record`, where there is one."""
    texts = judge_record(owner, verdict)
    if isinstance(texts, Mapping):
        yield attempt(DM3_RECORD, lambda: _profiles(owner, texts, outside))
    elif texts:
        yield texts


def _profiles(owner: str, texts: Mapping[str, str], outside: ExaminerNetwork) -> DoctorCheck:
    documents: dict[str, JsonValue] = {}
    for key, uri in texts.items():
        if scheme_of(uri) == "ipfs" and not outside.reads_ipfs:
            return without_gateway(key)
        try:
            documents[key] = outside.read_uri(uri).value
        except TheirError as error:
            return invalid(owner, key, error)
    return judge_profiles(owner, texts, documents)


def _buffer(host: str, outside: ExaminerNetwork) -> DoctorCheck:
    """The check `feedback buffer`.

    The buffer is a post office: this is the first problem with it, or else its inbox.
    """
    post_office = PostOffice(host, outside)
    wrong = next((check for check in post_office.reach() if not check.is_good), None)
    return replace(wrong or post_office.inbox(), name=_BUFFER)


def _round_trip(
    patient: Patient, signing: PrivateKey, keys: Sequence[KeyFound], outside: ExaminerNetwork, inbox: DoctorCheck
) -> DoctorCheck:
    """The check `round trip`: a message is posted, if it has a chance to be accepted."""
    name = "round trip"
    if not inbox.is_good:
        return skipped(name, "the inbox could not be checked")
    if not any(it.key for it in keys):
        return skipped(name, "no key of the domain could be confirmed")
    selector = next((it.selector for it in keys if it.key == signing.public), None)
    if selector is None:
        detail = f"the signing key {signing.public.fingerprint} is not published under any of these selectors"
        return bad(name, SIGNATURE_INVALID, detail, "name its selector (--selector), or sign with another key")
    sender = Sender(signing, patient.domain, selector, patient.dialect, outside.https, clock=outside.clock)
    return attempt(
        name,
        lambda: judge_round_trip(
            patient.domain, selector, sender.send(patient.domain, SUBJECT, {"Domain": patient.domain})
        ),
    )
