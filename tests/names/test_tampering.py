"""Somebody between the resolver and us changes answers: nothing is ever proven but what was signed. Enumerated."""

import time
from collections.abc import Callable
from functools import cached_property, lru_cache

import dns.dnssec
import dns.message
import dns.name
import dns.rcode
import dns.rdataclass
import dns.rrset
import pytest
from dns.rdatatype import RRSIG, TXT
from tests.tiers import amount

from postroom.core.errors import NotNowError
from postroom.core.steps import drive
from postroom.local.dns import DnsServer
from postroom.local.zones import Mode, ZoneTree
from postroom.names.dns import Answer, Malformed, Question
from postroom.names.dns.wire import make_query
from postroom.names.dnssec import Absent, Bogus, Indeterminate, Insecure, Secure, TrustAnchors, Verdict, walk
from postroom.protocols.nlweb.reasons import KEY_LOOKUP_FAILED

NOW = int(time.time())
SENDER = """
pk1._domainkey  60  TXT    "true"
alias           60  CNAME  pk1._domainkey
out             60  CNAME  key.host.example.
*.wild          60  TXT    "wild"
"""
TRUE = {
    "pk1._domainkey.sender.example": b"true",
    "alias.sender.example": b"true",
    "out.sender.example": b"hosted",
    "any.wild.sender.example": b"wild",
}
ABSENT = ("none.sender.example", "_domainkey.sender.example")
UNSIGNED = ("x.plain.example",)
NAMES = (*TRUE, *ABSENT, *UNSIGNED)
Change = Callable[[bytes], bytes | None]
ONE_IN = amount(quick=12, all=3, proof=1)
"""Of so many bytes of an answer one is changed; which, the rotation says."""


@lru_cache(64)
def parsed(wire: bytes) -> Answer:
    return Answer.read(wire)


class Ground:
    """Zones, one of them the attacker's, and every answer that look-ups of `NAMES` are given, as bytes."""

    def __init__(self, clock: Callable[[], float] = lambda: NOW) -> None:
        self.tree = ZoneTree(clock=clock)
        self.tree.put("sender.example", SENDER)
        self.tree.put("host.example", "key 60 TXT hosted")
        self.tree.put("attacker.example", 'pk1._domainkey 60 TXT "forged"\n*.wild 60 TXT "forged"')
        self.tree.put("plain.example", "x 60 TXT unsigned", Mode.UNSIGNED)
        self.server = DnsServer(self.tree)
        self.anchors = TrustAnchors.parse(self.tree.anchor_text)

    def answer(self, question: Question) -> bytes:
        wire = self.server.reply(make_query(question).to_wire(), udp=False)
        assert wire is not None
        return wire

    @cached_property
    def answers(self) -> dict[str, dict[Question, bytes]]:
        """By the name looked up: what was asked, and answered."""
        return {name: self._answers(name) for name in NAMES}

    def _answers(self, name: str) -> dict[Question, bytes]:
        answers: dict[Question, bytes] = {}
        self.judge(name, lambda question: answers.setdefault(question, self.answer(question)))
        return answers

    def judge(self, name: str, wire_for: Callable[[Question], bytes | None]) -> Verdict:
        def ask(question: Question) -> Answer:
            wire = wire_for(question)
            try:
                if wire is not None:
                    return parsed(wire)
            except Malformed:
                pass
            raise NotNowError(KEY_LOOKUP_FAILED)

        # Once: what is bogus would only be changed in the same way a second time.
        try:
            return drive(walk(dns.name.from_text(name), TXT, self.anchors, NOW), ask)
        except NotNowError as failed:
            return Indeterminate(failed.reason, failed.detail)

    def judge_changed(self, name: str, changed: Question, change: Change) -> Verdict:
        """The verdict where one answer is changed; another is as it was, or what it would be."""

        def wire_for(question: Question) -> bytes | None:
            wire = self.answers[name].get(question) or self.answer(question)
            return change(wire) if question == changed else wire

        return self.judge(name, wire_for)


@pytest.fixture(scope="module")
def ground() -> Ground:
    return Ground()


def is_true(name: str, verdict: Verdict) -> bool:
    """Whether a verdict says nothing untrue of a name; that something is wrong it may always say."""
    match verdict:
        case Secure(records, ttl, _):
            return ttl <= 60 and [b"".join(record.strings) for record in records] == [TRUE.get(name)]  # type: ignore[attr-defined]
        case Absent():
            return name in ABSENT
        case Insecure():
            return name in UNSIGNED
    return isinstance(verdict, Bogus | Indeterminate)


@pytest.mark.parametrize("name", NAMES)
def test_unchanged_answers_are_secure(ground: Ground, name: str) -> None:
    verdict = ground.judge(name, ground.answer)
    expected = Secure if name in TRUE else Absent if name in ABSENT else Insecure
    assert isinstance(verdict, expected)
    assert is_true(name, verdict)


@pytest.mark.parametrize(
    ("name", "flip"), [*((name, 0x01) for name in NAMES), *((name, 0x20) for name in (NAMES[0], *ABSENT, *UNSIGNED))]
)
def test_changing_any_byte_of_an_answer_proves_nothing_untrue(
    ground: Ground, pytestconfig: pytest.Config, name: str, flip: int
) -> None:
    first = pytestconfig.option.rotation % ONE_IN
    for question, wire in ground.answers[name].items():
        for place in range(first, len(wire), ONE_IN):
            changed = wire[:place] + bytes([wire[place] ^ flip]) + wire[place + 1 :]
            verdict = ground.judge_changed(name, question, lambda _, changed=changed: changed)  # type: ignore[misc]
            assert is_true(name, verdict), (str(question), place, verdict)


def edited(wire: bytes, edit: Callable[[dns.message.Message], object]) -> bytes:
    message = dns.message.from_wire(wire)
    edit(message)
    return message.to_wire()


def sets_of(wire: bytes) -> list[tuple[str, int]]:
    """Where RRsets stand in an answer: section and place."""
    message = dns.message.from_wire(wire)
    return [(part, place) for part in ("answer", "authority") for place in range(len(getattr(message, part)))]


@pytest.mark.parametrize("name", NAMES)
def test_no_set_of_any_answer_can_be_left_out_or_stripped(ground: Ground, name: str) -> None:
    for question, wire in ground.answers[name].items():
        for part, place in sets_of(wire):
            dropped = edited(wire, lambda it, part=part, place=place: getattr(it, part).pop(place))  # type: ignore[misc]
            verdict = ground.judge_changed(name, question, lambda _, dropped=dropped: dropped)  # type: ignore[misc]
            assert is_true(name, verdict), (str(question), part, place, verdict)
        for rcode in (dns.rcode.NOERROR, dns.rcode.NXDOMAIN):

            def empty(message: dns.message.Message, rcode: dns.rcode.Rcode = rcode) -> None:
                message.answer, message.authority = [], []
                message.set_rcode(rcode)

            verdict = ground.judge_changed(name, question, lambda it, empty=empty: edited(it, empty))  # type: ignore[misc]
            assert is_true(name, verdict), (str(question), rcode, verdict)


@pytest.mark.parametrize("name", NAMES)
def test_no_answer_can_stand_for_another(ground: Ground, name: str) -> None:
    """Each answer is replaced by each other one that anybody was given, made to look like one to this question."""
    others = {wire for answers in ground.answers.values() for wire in answers.values()}
    for question in ground.answers[name]:
        for other in others:

            def ask_this(message: dns.message.Message, question: Question = question) -> None:
                message.question = [dns.rrset.RRset(question.name, dns.rdataclass.IN, question.rdtype)]

            verdict = ground.judge_changed(name, question, lambda _, other=other: edited(other, ask_this))  # type: ignore[misc]
            assert is_true(name, verdict), (str(question), str(dns.message.from_wire(other).question[0]), verdict)


@pytest.mark.parametrize("name", NAMES)
def test_no_set_can_be_given_another_name(ground: Ground, name: str) -> None:
    owners = sorted({dns.name.from_text(it) for it in (*NAMES, "sender.example", "attacker.example")})
    for question, wire in ground.answers[name].items():
        for part, place in sets_of(wire):
            for owner in owners:

                def rename(
                    message: dns.message.Message, part: str = part, place: int = place, owner: dns.name.Name = owner
                ) -> None:
                    getattr(message, part)[place].name = owner

                verdict = ground.judge_changed(name, question, lambda it, rename=rename: edited(it, rename))  # type: ignore[misc]
                assert is_true(name, verdict), (str(question), part, place, str(owner), verdict)


@pytest.mark.parametrize("name", NAMES)
def test_signatures_by_an_attackers_zone_are_not_accepted(ground: Ground, name: str) -> None:
    """Every set is made anew with other data, signed by the attacker's key, in his name and in everybody's."""
    private, key = ground.tree.key("attacker.example")
    for question in ground.answers[name]:
        for signer in ("attacker.example.", "sender.example.", "example.", "."):

            def forge(message: dns.message.Message, question: Question = question, signer: str = signer) -> None:
                data = {"TXT": '"forged"', "DNSKEY": key.to_text()}.get(question.rdtype.name)
                if question.rdtype.name == "DS":
                    data = dns.dnssec.make_ds(question.name, key, "SHA256").to_text()
                assert data is not None
                records = dns.rrset.from_text(question.name, 60, "IN", question.rdtype, data)
                zone = dns.name.from_text(signer)
                signature = dns.dnssec.sign(records, private, zone, key, inception=NOW - 60, expiration=NOW + 60)
                message.answer = [records, dns.rrset.from_rdata(question.name, 60, signature)]
                message.authority = []
                message.set_rcode(dns.rcode.NOERROR)

            verdict = ground.judge_changed(name, question, lambda it, forge=forge: edited(it, forge))  # type: ignore[misc]
            assert is_true(name, verdict), (str(question), signer, verdict)


@pytest.mark.parametrize("name", NAMES)
def test_an_old_answer_is_not_accepted_after_its_signatures_expired(ground: Ground, name: str) -> None:
    """Recorded when the zones said something else, under the keys that they have today."""
    year = 365 * 86_400
    past = Ground(clock=lambda: NOW - year)
    past.tree._keys = ground.tree._keys
    past.tree.put("sender.example", SENDER.replace("true", "old").replace("wild", "old"))
    past.tree.put("plain.example", "x 60 TXT old")
    for question in ground.answers[name]:
        old = past.answer(question)
        verdict = ground.judge_changed(name, question, lambda _, old=old: old)  # type: ignore[misc]
        assert is_true(name, verdict), (str(question), verdict)


def test_an_untrue_verdict_would_be_found(ground: Ground) -> None:
    secure = ground.judge("pk1._domainkey.sender.example", ground.answer)
    absent = ground.judge("none.sender.example", ground.answer)
    insecure = ground.judge("x.plain.example", ground.answer)
    assert not is_true("out.sender.example", secure)
    assert not is_true("pk1._domainkey.sender.example", absent)
    assert not is_true("pk1._domainkey.sender.example", insecure)
    assert RRSIG in {it.rdtype for it in dns.message.from_wire(ground.answer(Question(dns.name.root, TXT))).authority}
