"""`postroom dns lookup`: the DNS records of a name, and whether they are proven."""

import time
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from postroom.cli.exits import Exit, UsageFault
from postroom.cli.inputs import AsJson
from postroom.cli.network import LookupOptions, anchors_of, open_resolvers
from postroom.cli.options import CommandTyper, repeatable
from postroom.cli.output import print_json
from postroom.cli.proof import broken_lines, proof_lines
from postroom.cli.terminal import print_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    import dns.name
    from dns.rdatatype import RdataType

    from postroom.core.ijson import JsonValue
    from postroom.names.dns import Answer, Ask, Question
    from postroom.names.dnssec import Bogus, Evidence, Verdict

app = CommandTyper(help="Look names up in DNS, with proof.", no_args_is_help=True)

_END_OF_TIMES = 2**32
"""Epoch seconds: the times of signatures wrap around there (RFC 4034 §3.1.5)."""


# Typer makes `postroom dns lookup` a group only if there is a callback.
@app.callback()
def group() -> None:
    """Look names up in DNS, with proof."""


@app.command("lookup")
def lookup(
    name: Annotated[str, typer.Argument(help="The name, in ASCII.", metavar="NAME")],
    rdtype: Annotated[str, typer.Argument(help="The type of its records.", metavar="TYPE")] = "TXT",
    *,
    lookups: LookupOptions,
    negative_trust_anchor: Annotated[
        list[str] | None, repeatable("Treat this name, and all below it, as not signed", metavar="NAME")
    ] = None,
    now: Annotated[
        float | None,
        typer.Option(
            metavar="EPOCH",
            help="The time at which signatures must be valid, in seconds since 1970.",
            show_default="now",
        ),
    ] = None,
    accept_sha1: Annotated[
        bool, typer.Option("--accept-sha1", help="Accept signatures and digests with SHA-1, too.")
    ] = False,
    explain: Annotated[bool, typer.Option("--explain", help="Show the proof, zone by zone.")] = False,
    as_json: AsJson = False,
) -> None:
    """Look up a name, and prove the answer by DNSSEC.

    The proof begins at the trust anchor; no resolver is trusted. Exit code 0: secure, also if the name is proven not to
    exist; 1: bogus; 3: unknown; 4: insecure (proven).
    """
    from postroom.names.dns import Question
    from postroom.names.dnssec import Insecure, Policy, validate

    owner, wanted = _name(name), _type(rdtype)
    if now is not None and not 0 <= now < _END_OF_TIMES:
        raise UsageFault(f"--now is {now}; it must be seconds since 1970, below {_END_OF_TIMES}")
    network = lookups.network()
    anchors = anchors_of(network, negative_trust_anchor)
    with open_resolvers(network) as resolvers:
        counted = _CountedLookups(resolvers.asking())
        verdict = validate(
            owner, wanted, anchors, counted, time.time() if now is None else now, policy=Policy(accept_sha1)
        )
        if counted.first is None and isinstance(verdict, Insecure):
            # Without an anchor above the name, no query is needed to know that; the records are shown all the same.
            counted(Question(owner, wanted))
    shown = _shown(owner, wanted, verdict, counted)
    if as_json:
        print_json(shown.as_json())
    else:
        for line in shown.lines(explain=explain):
            print_line(line)
    raise typer.Exit(shown.exit)


class _CountedLookups:
    """Sends the queries, counts them, and keeps the first answer."""

    def __init__(self, ask: "Ask") -> None:
        self._ask = ask
        self.questions = 0
        self.first: Answer | None = None

    def __call__(self, question: "Question") -> "Answer":
        self.questions += 1
        answer = self._ask(question)
        self.first = self.first or answer
        return answer


class _ShownVerdict(NamedTuple):
    """A verdict for people and programs. `records`: as in a zone file."""

    status: str
    reason: str | None
    records: "list[str]"
    rcode: str | None
    ttl: int | None
    queries: int
    proof: "Evidence | Bogus | None"

    @property
    def exit(self) -> Exit:
        return {"secure": Exit.GOOD, "bogus": Exit.REFUSED, "insecure": Exit.PROBLEMS}.get(
            self.status, Exit.UNAVAILABLE
        )

    def as_json(self) -> "JsonValue":
        from postroom.names.dnssec import Bogus

        chain: list[JsonValue] = []
        if isinstance(self.proof, Bogus):
            chain = [link.as_json() for link in self.proof.chain]
        elif self.proof:
            answer = dict(self.proof.as_json())
            links = answer.pop("chain")
            chain = [*(links if isinstance(links, list) else []), answer]
        return {
            "status": self.status,
            "reason": self.reason,
            "records": list(self.records),
            "rcode": self.rcode,
            "ttl": self.ttl,
            "queries": self.queries,
            "chain": chain,
        }

    def lines(self, *, explain: bool) -> "Iterator[str]":
        """The status, the records, and on request the chain."""
        from postroom.names.dnssec import Bogus

        ttl = "" if self.ttl is None else f", for {self.ttl} s"
        yield f"{self.status}{ttl}" + (f": {self.reason}" if self.reason else "")
        yield from self.records
        if explain:
            yield f"{self.queries} queries were sent"
            if isinstance(self.proof, Bogus):
                yield from broken_lines(self.proof)
            elif self.proof:
                yield from proof_lines(self.proof)


def _shown(name: "dns.name.Name", rdtype: "RdataType", verdict: "Verdict", lookups: _CountedLookups) -> _ShownVerdict:
    import dns.rcode

    from postroom.names.dnssec import Absent, EndlessAlias, Indeterminate, Insecure, Secure

    rcode = dns.rcode.to_text(lookups.first.rcode) if lookups.first else None
    queries = lookups.questions
    match verdict:
        case Secure(records, ttl, evidence):
            owner = evidence.aliases[-1].target if evidence.aliases else name
            shown = [f"{owner} {ttl} IN {rdtype.name} {record.to_text()}" for record in records]
            return _ShownVerdict("secure", None, shown, "NOERROR", ttl, queries, evidence)
        case Absent(kind, ttl, evidence):
            there = "no such name" if kind == "nxdomain" else f"no {rdtype.name} there"
            code = "NXDOMAIN" if kind == "nxdomain" else "NOERROR"
            return _ShownVerdict("secure", f"{evidence.owner}: {there}", [], code, ttl, queries, evidence)
        case EndlessAlias(why):
            return _ShownVerdict("secure", why, [], rcode, None, queries, None)
        case Insecure(why, ttl, insecure_evidence):
            return _ShownVerdict("insecure", why, _unproven(rdtype, lookups), rcode, ttl, queries, insecure_evidence)
        case Indeterminate(reason, why):
            return _ShownVerdict("indeterminate", f"{reason}: {why}", [], rcode, None, queries, None)
    return _ShownVerdict("bogus", verdict.why, [], rcode, None, queries, verdict)


def _unproven(rdtype: "RdataType", lookups: _CountedLookups) -> list[str]:
    """The resolver's answer about a name that is not signed, and so cannot be proven."""
    from postroom.names.dns import Malformed

    if lookups.first is None:
        return []
    section, lines = lookups.first.answer, []
    for owner in section.of_type(rdtype):
        if found := section.find(owner, rdtype):
            with suppress(Malformed):
                lines += [f"{owner} {found.ttl} IN {rdtype.name} {record}" for record in found.read()]
    return lines


def _name(text: str) -> "dns.name.Name":
    import dns.exception
    import dns.name

    try:
        return dns.name.from_text(text.encode("ascii"))
    except (dns.exception.DNSException, UnicodeError):
        raise UsageFault(f"{text!r} is not a DNS name; expected one such as pk1._domainkey.example, in ASCII") from None


def _type(text: str) -> "RdataType":
    import dns.exception
    import dns.rdatatype

    try:
        rdtype = dns.rdatatype.from_text(text)
    except (dns.exception.DNSException, ValueError):
        raise UsageFault(f"{text!r} is not a record type; expected one such as TXT, A or DS") from None
    if dns.rdatatype.is_metatype(rdtype) or rdtype in (dns.rdatatype.RRSIG, dns.rdatatype.ANY, dns.rdatatype.NONE):
        raise UsageFault(f"{text} is not signed, so it cannot be proven; choose another type")
    return rdtype
