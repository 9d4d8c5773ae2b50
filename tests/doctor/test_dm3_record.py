"""What is said of the records of dm3, from verdicts: the real look-ups are played in tests/cli/test_doctor.py."""

import dns.rdata
import pytest

from postroom.core.errors import TheirError
from postroom.core.reason import Reason
from postroom.doctor.checks import CheckStatus, DoctorCheck
from postroom.doctor.dm3_record import invalid, judge_profiles, judge_record, without_gateway
from postroom.names.dnssec import Absent, Bogus, EndlessAlias, Evidence, Indeterminate, Insecure, Link, Secure, Verdict
from postroom.names.dnssec.evidence import SignatureWindow
from postroom.names.registry import PROFILE_KEY, SERVICE_KEY
from postroom.protocols.dm3.reasons import (
    PROFILE_INVALID,
    PROFILE_NOT_PROVEN,
    PROFILE_UNKNOWN,
    PROFILE_URI_UNSUPPORTED,
)
from postroom.protocols.nlweb.reasons import DNSSEC_TOO_COSTLY

OWNER = "_dm3.shop.example."
WINDOW = SignatureWindow(13, 4711, 1_700_000_000, 1_800_000_000)
EVIDENCE = Evidence(OWNER, "TXT", (), (Link(".", 2, "ab" * 32, WINDOW),), WINDOW)


def secure(*texts: str) -> Secure:
    return Secure(tuple(dns.rdata.from_text("IN", "TXT", text) for text in texts), 60, EVIDENCE)


def test_where_nothing_is_published_there_is_no_check() -> None:
    assert judge_record(OWNER, Absent("nxdomain", 60, EVIDENCE)) is None


def test_the_texts_of_a_valid_record_are_read_next() -> None:
    texts = judge_record(OWNER, secure(f'"{SERVICE_KEY}=data:," "b"', f'"{PROFILE_KEY}=data:,a"', '"something else"'))
    assert texts == {PROFILE_KEY: "data:,a", SERVICE_KEY: "data:,b"}


@pytest.mark.parametrize(
    ("verdict", "reason", "todo"),
    [
        (Insecure("no DS", 60, None), PROFILE_UNKNOWN, "sign the zone, and publish its DS record"),
        (Bogus("does not hold"), PROFILE_NOT_PROVEN, f"sign the zone of {OWNER} again"),
        (EndlessAlias("a circle"), PROFILE_INVALID, "break the loop"),
        (secure('"something else"'), PROFILE_UNKNOWN, "or remove what is there"),
        (secure(f'"{PROFILE_KEY}=a"', f'"{PROFILE_KEY}=b"'), PROFILE_INVALID, "no other one of the same key"),
    ],
)
def test_what_is_wrong_with_the_record_and_what_to_do(verdict: Verdict, reason: Reason, todo: str) -> None:
    check = judge_record(OWNER, verdict)
    assert isinstance(check, DoctorCheck)
    assert (check.name, check.status, check.reason) == ("dm3 record", CheckStatus.BAD, reason)
    assert todo in check.next


def test_what_could_not_be_found_out_is_not_checked() -> None:
    check = judge_record(OWNER, Indeterminate(DNSSEC_TOO_COSTLY, "too many"))
    assert isinstance(check, DoctorCheck)
    assert (check.status, check.reason) == (CheckStatus.NOT_CHECKED, DNSSEC_TOO_COSTLY)


def test_a_document_that_is_no_profile_is_bad() -> None:
    check = judge_profiles(OWNER, {PROFILE_KEY: "data:,{}"}, {PROFILE_KEY: {}})
    assert (check.status, check.reason) == (CheckStatus.BAD, PROFILE_INVALID)
    assert check.found.startswith("network.dm3.profile: ")


def test_a_uri_that_leads_nowhere_is_bad_and_one_that_needs_a_gateway_not_checked() -> None:
    check = invalid(OWNER, PROFILE_KEY, TheirError(PROFILE_URI_UNSUPPORTED, "no CID"))
    assert (check.status, check.reason) == (CheckStatus.BAD, PROFILE_URI_UNSUPPORTED)
    assert (check.found, "or publish the profile elsewhere" in check.next) == ("network.dm3.profile: no CID", True)
    assert without_gateway(PROFILE_KEY).status is CheckStatus.NOT_CHECKED
