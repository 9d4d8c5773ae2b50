"""Look-ups of names: what is asked, in which order, and what was found, absent, or not found out."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.names.ens.vectors import EXCHANGES, REGISTRY, RESOLVER, raw

from postroom.core.errors import NotNowError
from postroom.names.ens.abi import decode, encode
from postroom.names.ens.calls import Call, Outcome, Returned, Reverted
from postroom.names.ens.ccip import (
    BATCH_GATEWAY,
    MAX_BATCH,
    MAX_REQUESTS,
    MAX_URLS,
    OffchainAnswer,
    OffchainRequest,
)
from postroom.names.ens.lookup import (
    MAX_ROUNDS,
    MAX_TEXT_BYTES,
    Ask,
    Contracts,
    Found,
    LookUp,
    look_up_address,
    look_up_text,
)
from postroom.names.registry import PROFILE_KEY
from postroom.protocols.dm3.reasons import PROFILE_LOOKUP_FAILED

CONTRACTS = Contracts(RESOLVER, REGISTRY)
ON_CHAIN, CCIP = EXCHANGES["on_chain"], EXCHANGES["ccip"]
PUBLIC = raw(EXCHANGES["addresses"]["public_resolver"])
NAME = "carol.user.eth"


@dataclass
class World:
    """What endpoints agree on, and what gateways answer; `asked`: what was asked of both, in order."""

    outcomes: dict[bytes, Outcome] = field(default_factory=dict)
    """By the data of the call; any other one reverts without data."""
    gateways: dict[str, OffchainAnswer] = field(default_factory=dict)
    asked: list[Ask | OffchainRequest] = field(default_factory=list)

    def run(self, look_up: LookUp) -> Found:
        try:
            step = next(look_up)
            while True:
                self.asked.append(step)
                if isinstance(step, Ask):
                    outcomes = tuple(self.outcomes.get(call.data, Reverted(b"")) for call in step.calls)
                    step = look_up.send(outcomes)
                else:
                    step = look_up.send(self.gateways.get(step.url))
        except StopIteration as done:
            found: Found = done.value
            return found

    def text(self, name: str = NAME) -> Found:
        return self.run(look_up_text(name, PROFILE_KEY, CONTRACTS))


def recorded() -> Iterator[tuple[bytes, Outcome]]:
    """The calls of the known answers, and what the real contracts did."""
    for row in ON_CHAIN:
        yield raw(row["data"]), Returned(raw(row["result"])) if "result" in row else Reverted(raw(row["revert"]))
    for row in CCIP:
        yield raw(row["callback"]), Returned(raw(row["result"]))
        for refused in row["refused_callbacks"].values():
            yield raw(refused["data"]), Reverted(raw(refused["revert"]))


def of_ccip(row: dict[str, Any], answer: OffchainAnswer | None = None) -> World:
    """A world in which a name is off chain, as in the known answers."""
    good = OffchainAnswer(200, json.dumps(row["answer"]).encode())
    outcomes = {**dict(recorded()), raw(row["data"]): Reverted(raw(row["revert"]))}
    return World(outcomes, {row["http"]["url"]: answer or good})


@pytest.fixture
def world() -> World:
    return World(dict(recorded()))


def test_the_contracts_are_those_of_ens_on_ethereum_unless_others_are_named() -> None:
    assert Contracts() == Contracts(RESOLVER, REGISTRY, chain=1)


# --- on chain --------------------------------------------------------------------------------------------------------


def test_a_text_on_chain_takes_one_question_with_the_ttl_in_it(world: World) -> None:
    found = world.text("alice.eth")
    assert isinstance(found.value, str)
    assert found.value.startswith("data:application/json,")
    assert (found.ttl, found.resolver, found.rounds, found.gateways, found.absent) == (300, PUBLIC, 0, (), "")
    [question] = world.asked
    assert isinstance(question, Ask)
    assert [call.to for call in question.calls] == [RESOLVER, REGISTRY]


@pytest.mark.parametrize(
    ("name", "absent"),
    [
        ("bob.eth", "an empty text"), ("nobody.eth", "ResolverNotFound"), ("sub.alice.eth", "ResolverNotFound"),
        ("hollow.eth", "ResolverNotContract"),
    ],
)  # fmt: skip
def test_a_name_without_a_text_is_proven_to_have_none(world: World, name: str, absent: str) -> None:
    found = world.text(name)
    assert (found.value, found.absent) == (None, absent)


def test_an_address_is_found_in_the_same_way(world: World) -> None:
    found = world.run(look_up_address("alice.eth", CONTRACTS))
    assert found.value == raw("f39fd6e51aad88f6f4ce6ab8827279cfffb92266")
    assert world.run(look_up_address("bob.eth", CONTRACTS)) == Found(None, 0, PUBLIC, "no address")
    assert world.run(look_up_address("nobody.eth", CONTRACTS)).absent == "ResolverNotFound"


def test_a_registry_that_tells_no_ttl_leaves_it_open(world: World) -> None:
    assert world.text("bob.eth").ttl == 0


# --- off chain -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", CCIP, ids=lambda row: row["http"]["method"])
def test_a_text_off_chain_takes_two_questions_and_a_gateway(row: dict[str, Any]) -> None:
    world = of_ccip(row)
    assert world.text() == Found(
        row["text"], 0, raw(row["resolver"]), rounds=1, gateways=(row["http"]["url"],)
    )  # fmt: skip
    first, _, last = world.asked
    assert isinstance(first, Ask)
    assert isinstance(last, Ask)
    assert [call.data for call in (first.calls[0], *last.calls)] == [raw(row["data"]), raw(row["callback"])]


@pytest.mark.parametrize("row", CCIP, ids=lambda row: row["http"]["method"])
@pytest.mark.parametrize("refused", [name for name in CCIP[0]["refused_callbacks"] if not name.startswith("HttpError")])
def test_a_changed_old_or_other_answer_of_a_gateway_is_refused_by_the_contract(
    row: dict[str, Any], refused: str
) -> None:
    batch_answer, _ = decode("bytes,bytes", raw(row["refused_callbacks"][refused]["data"])[4:])
    _, [answer] = decode("bool[],bytes[]", batch_answer)
    world = of_ccip(row, OffchainAnswer(200, json.dumps({"data": f"0x{answer.hex()}"}).encode()))
    with pytest.raises(NotNowError, match="reverted with ResolverError") as caught:
        world.text()
    assert caught.value.reason == PROFILE_LOOKUP_FAILED


def test_a_gateway_that_refuses_is_judged_by_the_contract() -> None:
    world = of_ccip(CCIP[0], OffchainAnswer(404, b"", "Not Found"))
    with pytest.raises(NotNowError, match="reverted with HttpError"):
        world.text()


def looked_up(sender: bytes, urls: list[str], data: bytes) -> Reverted:
    lookup = encode("address,string[],bytes,bytes4,bytes", [sender, urls, data, b"back", b"extra"])
    return Reverted(bytes.fromhex("556f1830") + lookup)


FIRST = raw(CCIP[0]["data"])


def test_a_lookup_in_the_name_of_another_contract_is_not_followed() -> None:
    world = World({FIRST: looked_up(PUBLIC, ["https://g.example/{data}"], b"")})
    with pytest.raises(NotNowError, match="not that of the universal resolver"):
        world.text()
    assert len(world.asked) == 1


@pytest.mark.parametrize(
    "reverted",
    [b"", b"\x01", bytes.fromhex("556f1830"), bytes.fromhex("95c0c752"), bytes.fromhex("08c379a0"), b"else"],
)
def test_any_other_revert_proves_nothing(reverted: bytes) -> None:
    with pytest.raises(NotNowError) as caught:
        World({FIRST: Reverted(reverted)}).text()
    assert caught.value.reason == PROFILE_LOOKUP_FAILED


@pytest.mark.parametrize("returned", [b"", bytes(64), encode("bytes,address", [b"no text", bytes(20)])])
def test_what_cannot_be_decoded_proves_nothing(returned: bytes) -> None:
    with pytest.raises(NotNowError, match="cannot be read"):
        World({FIRST: Returned(returned)}).text()


def test_a_text_has_a_limit() -> None:
    def of(length: int) -> Found:
        inner = encode("string", ["ä" * (length // 2) + "a" * (length % 2)])
        return World({FIRST: Returned(encode("bytes,address", [inner, PUBLIC]))}).text()

    assert isinstance(of(MAX_TEXT_BYTES).value, str)
    with pytest.raises(NotNowError, match="more than 65536 bytes"):
        of(MAX_TEXT_BYTES + 1)


def in_rounds(rounds: int) -> World:
    """A world in which so many gateways must be asked, one after the other."""
    text = Returned(encode("bytes,address", [encode("string", ["found"]), PUBLIC]))
    world = World({FIRST: text})
    asked = FIRST
    for number in range(rounds):
        url = f"https://{number}.example/"
        world.outcomes[asked] = looked_up(RESOLVER, [url], b"")
        world.gateways[url] = OffchainAnswer(200, json.dumps({"data": f"0x{number:02x}"}).encode())
        asked = b"back" + encode("bytes,bytes", [bytes([number]), b"extra"])
        world.outcomes[asked] = text
    return world


def test_there_may_be_four_rounds_and_no_more() -> None:
    found = in_rounds(MAX_ROUNDS).text()
    assert (found.value, found.rounds, len(found.gateways)) == ("found", MAX_ROUNDS, MAX_ROUNDS)
    with pytest.raises(NotNowError, match="more than 4 off-chain look-ups"):
        in_rounds(MAX_ROUNDS + 1).text()


def test_a_lookup_without_a_batch_goes_to_its_own_urls() -> None:
    world = World({FIRST: looked_up(RESOLVER, ["https://own.example/{sender}/{data}"], b"\x07")})
    with pytest.raises(NotNowError, match="did not answer"):
        world.text()
    assert world.asked[1:] == [OffchainRequest(f"https://own.example/0x{RESOLVER.hex()}/0x07", None)]


PATHS = ("", "/", "/{data}", "/{sender}/{data}", "?data={data}", "#x", "/@other.example/", "/https://other.example/")
GOOD_URLS = st.builds(
    lambda label, path: f"https://{label}.example{path}", st.text("abc-0", min_size=1), st.sampled_from(PATHS)
)
BAD_URLS = st.text(max_size=20) | st.sampled_from(
    [
        "http://a.example/", "//a.example/", "https:a.example", "https:///a.example", "https://{data}/",
        "https://{sender}.example/", "https://u@a.example/", "https://a.example\\@b.example/", " https://a.example/",
        "https://a.example/\n", "ftp://a.example/", "x-batch-gateway:false",
    ]
)  # fmt: skip
URLS = st.lists(st.tuples(st.just(True), GOOD_URLS) | st.tuples(st.just(False), BAD_URLS), max_size=MAX_URLS + 2)
"""URLs, and whether each can be asked."""
SENDERS = st.sampled_from([RESOLVER, PUBLIC]) | st.binary(min_size=20, max_size=20)


def hosts_of(urls: list[tuple[bool, str]]) -> list[str]:
    """Whom a look-up goes to while nobody answers."""
    return [str(urlsplit(url).hostname) for is_good, url in urls[:MAX_URLS] if is_good]


def hosts_asked(world: World) -> list[str]:
    """Whom a look-up went to that found nothing."""
    with pytest.raises(NotNowError) as caught:
        world.text()
    assert caught.value.reason == PROFILE_LOOKUP_FAILED
    return [str(urlsplit(step.url).hostname) for step in world.asked if isinstance(step, OffchainRequest)]


@given(SENDERS, URLS, st.binary())
def test_a_lookup_leads_to_the_hosts_of_its_urls_and_only_if_it_is_that_of_the_universal_resolver(
    sender: bytes, urls: list[tuple[bool, str]], data: bytes
) -> None:
    world = World({FIRST: looked_up(sender, [url for _, url in urls], data)})
    assert hosts_asked(world) == (hosts_of(urls) if sender == RESOLVER else [])


@given(SENDERS, URLS, st.lists(st.tuples(SENDERS, URLS, st.binary()), max_size=MAX_BATCH + 1))
def test_a_batch_leads_to_the_hosts_within_it_and_only_if_it_is_that_of_the_universal_resolver(
    sender: bytes, beside: list[tuple[bool, str]], batch: list[tuple[bytes, list[tuple[bool, str]], bytes]]
) -> None:
    members = [(each, [url for _, url in urls], data) for each, urls, data in batch]
    within = bytes.fromhex("a780bab6") + encode("(address,string[],bytes)[]", [members])
    world = World({FIRST: looked_up(sender, [*(url for _, url in beside), BATCH_GATEWAY], within)})
    followed = sender == RESOLVER and 0 < len(batch) <= MAX_BATCH
    wanted = [host for _, urls, _ in batch for host in hosts_of(urls)] if followed else []
    assert hosts_asked(world) == wanted[:MAX_REQUESTS]


def test_a_batch_of_which_nothing_is_answered_goes_back_to_the_contract() -> None:
    asked = bytes.fromhex("a780bab6") + encode("(address,string[],bytes)[]", [[(PUBLIC, ["https://a.example/"], b"")]])
    world = World({FIRST: looked_up(RESOLVER, [BATCH_GATEWAY], asked)})
    with pytest.raises(NotNowError, match="the universal resolver reverted"):
        world.text()
    last = world.asked[-1]
    assert isinstance(last, Ask)
    assert [call.to for call in last.calls] == [RESOLVER]
    assert isinstance(last.calls[0], Call)
