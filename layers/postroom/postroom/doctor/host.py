"""Checks of a post office's host: a public address, and a certificate that senders trust."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from ipaddress import ip_address
from typing import Final

from postroom.core.reasons import OUTBOUND_FAILED
from postroom.doctor.checks import DoctorCheck, bad, good, quoted, warning
from postroom.doctor.expiry import Term, runs_out, time_left
from postroom.net.https import is_public

FEW_DAYS: Final = 14
"""Certificates of 90 days are renewed a month before their end."""

# https://docs.openssl.org/3.0/man3/X509_STORE_CTX_get_error/
NOT_YET_VALID: Final = 9
EXPIRED: Final = 10
HOST_MISMATCH: Final = 62


@dataclass(frozen=True, slots=True)
class CertificateFacts:
    """The content of a certificate: its names, and its validity."""

    names: tuple[str, ...]
    term: Term


@dataclass(frozen=True, slots=True)
class Believed:
    """A certificate that senders accept for the host."""

    term: Term


@dataclass(frozen=True, slots=True)
class NotBelieved:
    """A certificate that senders refuse: OpenSSL's code and sentence. `shown`: its content, if it can be read."""

    code: int
    why: str
    shown: CertificateFacts | None


@dataclass(frozen=True, slots=True)
class NoTls:
    """The host does not speak TLS."""

    why: str


Certificate = Believed | NotBelieved | NoTls
"""The result of connecting to a host."""


def judge_host(host: str, addresses: Sequence[str]) -> DoctorCheck:
    """The check `host`."""
    if addresses:
        return good("host", f"{host} is at {quoted(', '.join(addresses))}")
    return bad("host", OUTBOUND_FAILED, f"there is no host {host}", f"give {host} an A or AAAA record")


def judge_addresses(addresses: Sequence[str], *, allow_private: bool) -> tuple[DoctorCheck, list[str]]:
    """The check `addresses`, and the addresses that senders connect to."""
    name = "addresses"
    private = [] if allow_private else [text for text in addresses if not is_public(ip_address(text))]
    used = [text for text in addresses if text not in private]
    detail, todo = quoted(", ".join(private)), "point its records to public addresses only"
    if not private:
        return good(name, "private addresses are allowed locally" if allow_private else "all are public"), used
    if used:
        return warning(name, f"senders ignore those that are not public: {detail}", todo), used
    return bad(name, OUTBOUND_FAILED, f"none is public: {detail}", todo), used


def judge_certificate(host: str, found: Certificate, now: float) -> DoctorCheck:
    """The check `certificate`."""
    name = "certificate"
    match found:
        case NoTls(why):
            return bad(name, OUTBOUND_FAILED, why, f"run an HTTPS server there for {host}")
        case NotBelieved(code, why, shown):
            detail = f"senders do not trust it: {why}" + (f" (it is {_said(shown)})" if shown else "")
            return bad(name, OUTBOUND_FAILED, detail, _todo(code, host))
        case Believed(term):
            detail = f"it names {host}, and ends in {time_left(term, now)}"
            if runs_out(term, now, FEW_DAYS):
                return warning(name, detail, "renew it, and check why it was not renewed automatically")
            return good(name, detail)


def _said(shown: CertificateFacts) -> str:
    names = quoted(", ".join(shown.names)) or "no name"
    return f"for {names}, from {_date(shown.term.begins)} to {_date(shown.term.ends)}"


def _todo(code: int, host: str) -> str:
    if code == EXPIRED:
        return "renew it, and check why it was not renewed automatically"
    if code == NOT_YET_VALID:
        return "correct the clock of its issuer, or wait"
    if code == HOST_MISMATCH:
        return f"get one that names {host}"
    return "get one from a public authority, and let the server send the intermediate certificates, too"


def _date(epoch: float) -> str:
    return datetime.fromtimestamp(epoch, UTC).strftime("%Y-%m-%d")
