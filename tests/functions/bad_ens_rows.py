"""The names in ENS of the table behind docs/reference/bad-input.md."""

import gzip
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from ipaddress import ip_address
from itertools import repeat
from typing import Final

from tests.fakes.dripping import Dripping
from tests.fakes.endpoints import Answered
from tests.fakes.web import Page
from tests.functions.bad_dm3 import SENDER, profile
from tests.functions.bad_ens import (
    GATEWAY,
    HASTY,
    IMPOSTOR,
    LOOPBACK,
    PRIVATE,
    PUBLIC_ADDRESS,
    QUERY,
    SIGNED,
    STRICT,
    Json,
    Judge,
    NameInEns,
    Spoil,
    accept,
    accept_batch,
    good_page,
    good_profile,
    honest,
    in_batch,
    off_chain,
    result,
    returned,
    says,
    text,
    url,
)
from tests.functions.bad_requests import MARK, Then
from tests.names.ens.nodes import reverted
from tests.names.ens.vectors import NAMES, raw

from postroom.core.reason import Reason
from postroom.crypto.encodings import write_hex
from postroom.names.ens.abi import encode
from postroom.names.ens.calls import OFFCHAIN_LOOKUP
from postroom.names.ens.ccip import BATCH_GATEWAY, MAX_URLS
from postroom.names.ens.lookup import MAX_ROUNDS, MAX_TEXT_BYTES
from postroom.names.ens.rpc import BLOCK_AHEAD_SECONDS, BLOCK_OLD_SECONDS
from postroom.protocols.dm3.profile import data_uri
from postroom.protocols.dm3.reasons import PROFILE_INVALID, PROFILE_LOOKUP_FAILED, PROFILE_UNKNOWN

REBOUND: Final = f"rebound-{MARK}.example"
"""A host with a public address, and with LOOPBACK once somebody has connected to that."""
_ADDRESSES: Final = (
    LOOPBACK, "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "192.0.2.1",
    "224.0.0.1", "255.255.255.255", "::1", "::", "fc00::1", "fe80::1", "fec0::1", "ff02::1", "2001:db8::1",
    f"::ffff:{LOOPBACK}", "64:ff9b::7f00:1", "2002:7f00:1::1",
)  # fmt: skip
"""None of which is public; the last three have an IPv4 address in them."""
_FORMS: Final = ("2130706433", "0x7f000001", "0x7f.0.0.1", "0177.0.0.1", "127.1", "[::1]", f"[::ffff:{LOOPBACK}]")
"""Other forms of LOOPBACK, as some resolvers read them."""


@cache
def names_in_ens() -> tuple[NameInEns, ...]:
    """All of them."""
    found = [each for make in (_names, _texts, _endpoints, _lookups, _private_addresses, _gateways) for each in make()]
    return tuple(replace(each, name=each.name or f"{MARK}-in-ens-{place}.eth") for place, each in enumerate(found))


def zones() -> dict[str, str]:
    """The zones of the hosts of gateways."""
    private = "\n".join(f"{_label(place)} {_record(address)}" for place, address in enumerate(_ADDRESSES))
    return {
        **{host: f"@ {_record(LOOPBACK)}" for host in (GATEWAY, IMPOSTOR)},
        PRIVATE: private,
        REBOUND: rebound_zone(PUBLIC_ADDRESS),
    }


def rebound_zone(address: str) -> str:
    """The zone of REBOUND when it has this address."""
    return f"@ 0 {_record(address)}"


def _record(address: str) -> str:
    return f"{'A' if ip_address(address).version == 4 else 'AAAA'} {address}"


def _label(place: int) -> str:
    return f"a{place}"


_FAILED: Final = PROFILE_LOOKUP_FAILED
_LOOKUPS: Final = "dm3: Off-chain look-ups"


# --- names and texts -------------------------------------------------------------------------------------------------


def _names() -> Iterator[NameInEns]:
    make = partial(NameInEns, "dm3: Names in ENS")
    absent = reverted(f"0x{_NOT_FOUND.hex()}")
    yield make("a name without a dot", PROFILE_UNKNOWN, f"{MARK}-nodot")
    yield make("a name that has no resolver", PROFILE_UNKNOWN, first=absent)
    for what, labels in (
        ("of 255 bytes in 128 labels", ("{}",) * 128),
        ("with a label of 200 bytes", ("{}" * 200, "eth")),
    ):
        yield make(f"a name {what}, in no registry", PROFILE_UNKNOWN, ".".join(labels).format(*"b" * 200), absent)
        yield make(f"a name {what}", None, ".".join(labels).format(*"a" * 200))


_NOT_FOUND: Final = bytes.fromhex("77209fe8")


def _texts() -> Iterator[NameInEns]:
    make = partial(NameInEns, "dm3: Texts in ENS")
    longest = _uri_of(MAX_TEXT_BYTES)
    yield make("65,536 bytes", None, first=text(longest))
    yield make("65,537 bytes", _FAILED, first=text(f"{longest}x"))
    yield make("not UTF-8", _FAILED, first=result(encode("bytes", (b"\xff",))))
    yield make("empty: it was taken back", PROFILE_UNKNOWN, first=text(""))
    yield make("a profile that breaks off", PROFILE_INVALID, first=text(good_profile()[:-1]))
    for row in NAMES["abi"]["refused"]:
        what = f"the encoding of {row['types']}: {row['why']}"
        yield make(what, _FAILED, first=_WHERE_DECODED.get(row["types"], returned)(raw(row["data"])))


_WHERE_DECODED: Final[dict[str, Callable[[bytes], Json]]] = {
    "string": result,
    "address,string[],bytes,bytes4,bytes": lambda data: reverted(write_hex(OFFCHAIN_LOOKUP + data)),
    "(address,string[],bytes)[]": lambda data: off_chain([BATCH_GATEWAY], QUERY + data),
}
"""Where a client meets an encoding of these types; others are put in place of what the universal resolver returns."""


def _uri_of(length: int) -> str:
    """The URI of a profile, of so many characters."""
    short = len(data_uri({**profile(SENDER), "note": ""}))
    return data_uri({**profile(SENDER), "note": "x" * (length - short)})


# --- endpoints -------------------------------------------------------------------------------------------------------


def _endpoints() -> Iterator[NameInEns]:
    yield NameInEns("dm3: Endpoints", "none at all", PROFILE_UNKNOWN, has_endpoints=False)
    for what, spoil, settings in _spoils():
        make = partial(NameInEns, "dm3: Endpoints", spoil=spoil, settings=settings)
        yield make(f"{what}, from two of three", _FAILED, spoilt=2, then=Then.LATER if settings else Then.NOTHING)
        if what in _TRIED_ALONE:
            yield make(f"{what}, from one of three endpoints", None, spoilt=1, settings={})
    for row in NAMES["rpc_errors"]["rows"]:
        spoil = partial(_with_answer, error=row["error"])
        yield NameInEns("dm3: Endpoints", f"a revert for want of a resolver, by {row['who']}", PROFILE_UNKNOWN,
                        spoil=spoil, spoilt=2)  # fmt: skip


def _spoils() -> Iterator[tuple[str, Spoil, dict[str, str]]]:
    yield "an HTML page", lambda _: b"<!doctype html>", {}
    yield "status 500", lambda answers: (500, {}, honest(answers)), {}
    yield "a redirect", lambda _: (307, {"Location": "/elsewhere"}, b""), {}
    yield "no answer", _hang_up, {}
    yield "gzip", lambda answers: gzip.compress(honest(answers)), {}
    yield "gzip that says so", lambda answers: (200, {"Content-Encoding": "gzip"}, gzip.compress(honest(answers))), {}
    yield "10 MB", lambda _: bytes(10 << 20), {}
    yield "10 MB of JSON", lambda answers: honest(answers).ljust(10 << 20), {}
    yield "nothing", lambda _: b"", {}
    yield "an empty batch", lambda _: b"[]", {}
    yield "other ids", lambda answers: honest([{**each, "id": each["id"] + 1} for each in answers]), {}
    yield "ids that are texts", lambda answers: honest([{**each, "id": str(each["id"])} for each in answers]), {}
    yield "an answer twice", lambda answers: honest([*answers, answers[2]]), {}
    yield "an answer too few", lambda answers: honest(answers[:-1]), {}
    yield "one error for the whole batch", lambda _: json.dumps(_RATE_LIMIT).encode(), {}
    for what, value in (("no hex", "0xzz"), ("odd digits", "0x123"), ("a number", 7), ("null", None), ("0x", "0x")):
        yield f"a result that is {what}", partial(_with_answer, result=value), {}
    for row in NAMES["rpc_errors"]["no_revert"]:
        yield (
            f"an error: {row['who'].replace('none', 'a revert without data')}",
            partial(_with_answer, error=row["error"]),
            {},
        )
    yield "another chain", partial(_with_answer, place=0, result="0x5"), {}
    yield "no block", partial(_with_answer, place=1, result=None), {}
    yield "a block of some minutes ago", partial(_moved, seconds=-BLOCK_OLD_SECONDS - 5), {}
    yield "a block from the future", partial(_moved, seconds=BLOCK_AHEAD_SECONDS + 60), {}
    yield "a byte now and then", lambda answers: (200, {}, Dripping(honest(answers))), HASTY


_TRIED_ALONE: Final = (
    "an HTML page",
    "a redirect",
    "no answer",
    "10 MB",
    "a block of some minutes ago",
    "a result that is 0x",
    "a byte now and then",
)
"""From one endpoint, too, which costs more to try: the others of all three agree."""
_RATE_LIMIT: Final = {"jsonrpc": "2.0", "id": None, "error": {"code": -32005, "message": f"{MARK}: slow down"}}


def _hang_up(_: list[Json]) -> Answered:
    raise ConnectionAbortedError


def _with_answer(answers: list[Json], place: int = 2, **members: object) -> bytes:
    """The answers with other members in one of them; 2: that for the text."""
    return honest([{"jsonrpc": "2.0", "id": place, **members} if each["id"] == place else each for each in answers])


def _moved(answers: list[Json], seconds: int) -> bytes:
    """The answers with the newest block at another time."""
    block = answers[1]["result"]
    return _with_answer(answers, 1, result={**block, "timestamp": hex(int(block["timestamp"], 16) + seconds)})


# --- off-chain look-ups ----------------------------------------------------------------------------------------------


def _lookups() -> Iterator[NameInEns]:
    def make(
        what: str,
        urls: Sequence[str] = (),
        *,
        reached: int = 0,
        reason: Reason | None = _FAILED,
        first: Json | None = None,
        judge: Judge = accept,
    ) -> NameInEns:
        pages = {"good": good_page(), "500": Page(b"", 500)}
        return NameInEns(
            _LOOKUPS, what, reason, first=first or off_chain(urls), judge=judge, pages=pages,
            reached=(LOOPBACK,) * reached,
        )  # fmt: skip

    good, bad = url("good"), url("500")
    yield make("a URL", [good], reached=1, reason=None)
    yield make("a gateway that fails, and another one", [bad, good], reached=2, reason=None)
    yield make("in the name of another contract", first=off_chain([good], sender=b"\xab" * 20))
    yield make("no URL", [])
    yield make("40 URLs, of which the last one is good", [*repeat(bad, 39), good], reached=MAX_URLS)
    yield make("a URL of 60 kB", [url("good".ljust(60_000, "x"))])
    yield make("a URL of 1 MB", [url("good".ljust(1_000_000, "x"))])
    for what, written in (
        ("http:", f"http://{GATEWAY}/good/{{data}}"), ("file:", "file:///etc/passwd"),
        ("data:", f'data:application/json,{{"data":"{write_hex(SIGNED)}"}}'),
        ("no scheme", f"//{GATEWAY}/good/{{data}}"), ("another port", f"https://{GATEWAY}:22/good/{{data}}"),
        ("a user name", f"https://user:pw@{GATEWAY}/good/{{data}}"), ("{data} as its host", "https://{data}/good"),
        ("{sender} in its host", f"https://{{sender}}.{GATEWAY}/good"), ("a line feed", f"{good}\n"),
        ("a host that does not exist", f"https://none.{GATEWAY}/good/{{data}}"), ("no host", "https:///good/{data}"),
    ):  # fmt: skip
        yield make(f"a URL with {what}", [written])
    first = off_chain([good], number=1)
    for rounds, reason in ((MAX_ROUNDS, None), (MAX_ROUNDS + 1, _FAILED)):
        judge = partial(_in_rounds, rounds=rounds)
        yield make(f"{rounds} rounds", reached=MAX_ROUNDS, reason=reason, first=first, judge=judge)
    yield make("rounds without an end", [good], reached=MAX_ROUNDS, judge=lambda *_: off_chain([good]))
    one = ([good], b"")
    yield make("a batch of one", first=off_chain(*in_batch(one)), judge=accept_batch, reached=1, reason=None)
    for number in (0, 5, 1000):
        yield make(f"a batch of {number:,}", first=off_chain(*in_batch(*[one] * number)), judge=accept_batch)
    yield make(
        "a batch within a batch within a batch", first=off_chain(*in_batch(in_batch(in_batch(one)))), judge=accept_batch
    )
    yield make("a batch gateway that is requested something else", first=off_chain([BATCH_GATEWAY], MARK.encode()))


def _in_rounds(answer: bytes, number: int, rounds: int) -> Json:
    """What a contract makes of an answer that needs so many rounds."""
    return accept(answer, number) if number == rounds else off_chain([url("good")], number=number + 1)


def _private_addresses() -> Iterator[NameInEns]:
    def make(what: str, *urls: str, reached: tuple[str, ...] = ()) -> NameInEns:
        return NameInEns(
            _LOOKUPS, f"a URL {what}", _FAILED, first=off_chain(urls), judge=accept, reached=reached, settings=STRICT
        )

    for form in _FORMS:
        yield make(f"with the address {form}", f"https://{form}/good/{{data}}")
    for place, address in enumerate(_ADDRESSES):
        yield make(f"whose host has the address {address}", url("good", f"{_label(place)}.{PRIVATE}"))
    rebound = url("good", REBOUND)
    what = "whose host has a public address, and a private one when it is looked up again"
    yield make(what, rebound, rebound, reached=(PUBLIC_ADDRESS,))


# --- gateways --------------------------------------------------------------------------------------------------------


def _gateways() -> Iterator[NameInEns]:
    def make(what: str, page: Page, host: str = GATEWAY, settings: dict[str, str] | None = None) -> NameInEns:
        path = what.replace(" ", "-")
        return NameInEns(
            "dm3: Gateways", what, _FAILED, first=off_chain(*in_batch(([url(path, host)], b""))), judge=accept_batch,
            pages={path: page}, reached=(LOOPBACK,), settings=settings or {},
            then=Then.LATER if settings else Then.NOTHING,
        )  # fmt: skip

    whole = good_page().body
    yield make("404", Page(whole, 404))
    yield make("500", Page(whole, 500))
    yield make("a redirect to this machine", Page(b"", 301, (("Location", "https://localhost/good"),)))
    yield make("no data", Page(b"{}"))
    yield make("data of odd digits", says(f"{write_hex(SIGNED)}0"))
    yield make("data without 0x", says(SIGNED.hex()))
    yield make("data that is a number", says(7))
    yield make("data that the contract does not accept", says(f"{write_hex(SIGNED)}00"))
    yield make("an HTML page", Page(b"<!doctype html>"))
    yield make("gzip", Page(gzip.compress(whole), headers=(("Content-Encoding", "gzip"),)))
    yield make("10 MB", Page(whole.ljust(10 << 20)))
    yield make("a certificate of another name", good_page(), IMPOSTOR)
    yield make("a byte now and then", Page(Dripping(whole)), settings=HASTY)
