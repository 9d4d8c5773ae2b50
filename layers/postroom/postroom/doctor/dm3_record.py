"""The check of the domain's records of dm3: proven, of one key each, and with URIs that lead to valid profiles."""

from collections.abc import Mapping
from typing import Final

from postroom.core.errors import NotNowError, TheirError
from postroom.core.ijson import JsonValue
from postroom.doctor.checks import CheckStatus, DoctorCheck, bad, good, not_found_out
from postroom.names.dm3_records import read_texts
from postroom.names.dns.records import TxtRecord
from postroom.names.dnssec import Absent, Bogus, EndlessAlias, Indeterminate, Insecure, Verdict
from postroom.names.registry import PROFILE_KEY, SERVICE_KEY
from postroom.names.uris import scheme_of
from postroom.protocols.dm3.profile import read_service_profile, read_user_profile
from postroom.protocols.dm3.reasons import PROFILE_INVALID, PROFILE_NOT_PROVEN, PROFILE_UNKNOWN

DM3_RECORD: Final = "dm3 record"
_READ: Final = {PROFILE_KEY: read_user_profile, SERVICE_KEY: read_service_profile}
_PUBLISH: Final = "publish at {} the line that `postroom dm3 publish` prints, and no other one of the same key"
_ELSEWHERE: Final = "or publish the profile elsewhere: see `postroom dm3 publish`"


def judge_record(owner: str, verdict: Verdict) -> Mapping[str, str] | DoctorCheck | None:
    """The texts in the records at `owner`, or the check if there is none that is valid; None: nobody publishes there.

    `verdict`: on the TXT records.
    """
    match verdict:
        case Absent():
            return None
        case Indeterminate(reason, why):
            return not_found_out(DM3_RECORD, NotNowError(reason, why))
        case Insecure(why):
            todo = "sign the zone, and publish its DS record in the parent zone"
            return bad(DM3_RECORD, PROFILE_UNKNOWN, f"what is at {owner} is not used: {why}", todo)
        case Bogus(why):
            return bad(DM3_RECORD, PROFILE_NOT_PROVEN, why, f"sign the zone of {owner} again")
        case EndlessAlias(why):
            return bad(DM3_RECORD, PROFILE_INVALID, why, "break the loop of aliases")
    try:
        texts = read_texts(b"".join(it.strings) for it in verdict.records if isinstance(it, TxtRecord))
    except TheirError as error:
        return bad(DM3_RECORD, error.reason, error.detail, _PUBLISH.format(owner))
    published = {key: texts[key] for key in _READ if texts.get(key)}
    if published:
        return published
    found = f"no record at {owner} begins with {PROFILE_KEY}= or {SERVICE_KEY}=, and has a text behind it"
    return bad(DM3_RECORD, PROFILE_UNKNOWN, found, f"{_PUBLISH.format(owner)}; or remove what is there")


def judge_profiles(owner: str, texts: Mapping[str, str], documents: Mapping[str, JsonValue]) -> DoctorCheck:
    """The check, if all URIs could be read. `documents`: what they lead to, by their keys."""
    for key, document in documents.items():
        try:
            _READ[key](document)
        except TheirError as error:
            return invalid(owner, key, error)
    there = ", ".join(f"{key} under {scheme_of(uri)}:" for key, uri in texts.items())
    return good(DM3_RECORD, f"at {owner} is published {there}")


def invalid(owner: str, key: str, error: TheirError) -> DoctorCheck:
    """The check, if the profile of a key is not valid, or its URI leads to none."""
    return bad(DM3_RECORD, error.reason, f"{key}: {error.detail}", f"{_PUBLISH.format(owner)}; {_ELSEWHERE}")


def without_gateway(key: str) -> DoctorCheck:
    """The check, if a profile is published in IPFS, and no gateway of it is known here."""
    return DoctorCheck(
        DM3_RECORD,
        CheckStatus.NOT_CHECKED,
        f"not checked: {key} is published under ipfs:, and no gateway of IPFS is named",
        "name one: --ipfs-gateway",
    )
