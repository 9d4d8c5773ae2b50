"""The verdicts of unbound, delv and our own validator on a question."""

import re
import subprocess
import time
from pathlib import Path

import dns.edns
import dns.flags
import dns.message
import dns.name
import dns.query
import dns.rcode
from dns.rdatatype import RdataType
from tests.dnssec.case import Gives, Said, Status
from tests.dnssec.programs import ENVIRONMENT, program
from tests.patience import PATIENCE

from postroom.core.errors import NotNowError
from postroom.local.ports import HOST
from postroom.names.dns import Resolvers
from postroom.names.dnssec import Absent, Bogus, Insecure, Secure, TrustAnchors, validate

# What delv says of a failure; "ncache …" is none, but an absence.
_FAILED = re.compile(r"^;; resolution failed: (?!ncache)(.*)$", re.MULTILINE)
_BOGUS = ("no valid ", "broken trust chain", "insecurity proof failed", "RRSIG failed to verify")
_PENDING = "signed answer, pending validation"
_PARTS = re.compile(rf"^; (?:negative response, )?(fully validated|unsigned answer|{_PENDING})$", re.MULTILINE)
# Extended errors that are a validator's finding (RFC 8914 §4.7 to 4.13); the others tell of something else.
_FINDINGS = range(6, 13)


def unbound_says(name: dns.name.Name, rdtype: RdataType, port: int) -> Said:
    """unbound's verdict: AD, no AD, or SERVFAIL."""
    answer = _answer_of(name, rdtype, port, dns.flags.AD)
    if answer.rcode() == dns.rcode.SERVFAIL:
        errors = [option for option in answer.options if isinstance(option, dns.edns.EDEOption)]
        status = Status.BOGUS if any(error.code in _FINDINGS for error in errors) else Status.INDETERMINATE
        return Said(status, "; ".join(error.to_text() for error in errors))
    status = Status.SECURE if answer.flags & dns.flags.AD else Status.INSECURE
    return Said(status, gives=_gives(answer, rdtype))


def delivered(name: dns.name.Name, rdtype: RdataType, port: int) -> Gives:
    """What the resolver hands to those who check for themselves (CD). Anything but data or absence is an error."""
    answer = _answer_of(name, rdtype, port, dns.flags.CD)
    if answer.rcode() not in (dns.rcode.NOERROR, dns.rcode.NXDOMAIN):
        raise RuntimeError(f"{name} {rdtype.name}: {dns.rcode.to_text(answer.rcode())}")
    return _gives(answer, rdtype)


def delv_says(name: dns.name.Name, rdtype: RdataType, port: int, anchors: Path) -> Said:
    """delv's verdict. Of an answer in several parts (aliases) the weakest counts.

    Of an absence behind an alias it says nothing, unless it finds it neither proven nor unsigned.
    """
    command = [program("delv"), f"@{HOST}", "-p", str(port), "-a", str(anchors), "+root", "-t", rdtype.name, str(name)]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=PATIENCE, check=False)
    if failed := _FAILED.search(done.stderr):
        return Said(Status.BOGUS if failed[1].startswith(_BOGUS) else Status.INDETERMINATE, failed[1])
    parts = _PARTS.findall(done.stdout)
    if not parts:
        raise RuntimeError(f"{' '.join(command)}: {done.stdout}{done.stderr}")
    if _PENDING in parts:
        return Said(Status.INDETERMINATE, _PENDING)
    return Said(Status.INSECURE if "unsigned answer" in parts else Status.SECURE)


def ours_says(name: dns.name.Name, rdtype: RdataType, port: int, anchors: TrustAnchors) -> Said:
    """Our verdict, asked through the resolver at `port`."""
    with Resolvers(f"udp://{HOST}:{port}", try_seconds=PATIENCE, budget_seconds=PATIENCE) as resolvers:
        try:
            verdict = validate(name, rdtype, anchors, resolvers.asking(), time.time())
        except NotNowError as error:
            return Said(Status.INDETERMINATE, error.detail)
    match verdict:
        case Secure():
            return Said(Status.SECURE, gives=Gives.RECORDS)
        case Absent(kind):
            return Said(Status.SECURE, gives=Gives.NXDOMAIN if kind == "nxdomain" else Gives.NODATA)
        case Insecure(why):
            return Said(Status.INSECURE, why)
        case Bogus(why):
            return Said(Status.BOGUS, why)
    return Said(Status.INDETERMINATE, verdict.why)


def anchors_for_delv(anchors: str, file: Path) -> None:
    """Write trust anchors (DS records in master format) as BIND wants it."""
    lines = []
    for line in anchors.splitlines():
        zone, _, _, tag, algorithm, digest_type, digest = line.split()
        lines.append(f'{zone} static-ds {tag} {algorithm} {digest_type} "{digest}";')
    file.write_text("\n".join(["trust-anchors {", *lines, "};", ""]))


def _answer_of(name: dns.name.Name, rdtype: RdataType, port: int, flag: dns.flags.Flag) -> dns.message.Message:
    query = dns.message.make_query(name, rdtype, want_dnssec=True, payload=1232)
    query.flags |= flag
    answer, _ = dns.query.udp_with_fallback(query, HOST, timeout=PATIENCE, port=port)
    return answer


def _gives(answer: dns.message.Message, rdtype: RdataType) -> Gives:
    if answer.rcode() == dns.rcode.NXDOMAIN:
        return Gives.NXDOMAIN
    return Gives.RECORDS if any(rrset.rdtype == rdtype for rrset in answer.answer) else Gives.NODATA
