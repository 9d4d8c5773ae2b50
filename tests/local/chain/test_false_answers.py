"""The false answers of the demo: a contract refuses those of gateways for what is false in them, and nothing else."""

import json
from collections.abc import Callable

import pytest
from tests.local.chain.names import KEY, NAMES, register_names

from postroom.core.steps import drive
from postroom.demo.changed_answers import LyingEndpoints, of_other_name, with_other_text
from postroom.local.chain.ccip_gateway import CcipGateway
from postroom.local.chain.ens_names import CONTRACTS
from postroom.local.chain.evm import ChainCall
from postroom.local.chain.local_ethereum import LocalEthereum
from postroom.local.edge import Handler
from postroom.local.gateway import GatewayRequest
from postroom.names.ens.abi import decode
from postroom.names.ens.calls import Outcome, Returned, read_text, text_call, ttl_call
from postroom.names.ens.ccip import Gateways, OffchainAnswer, OffchainLookup, OffchainRequest
from postroom.names.ens.rpc import read_batch, write_batch

NOW = 1_800_000_000
HOST = "https://ccip.example"
NAME = "carol.team.eth"
OTHER = "mallory.team.eth"
FALSE = "data:,mallory"


@pytest.fixture(scope="module")
def ethereum() -> LocalEthereum:
    made = LocalEthereum(lambda: NOW)
    register_names(made.ens, made.ccip, made.gateway_account, HOST)
    made.ccip.set_text(OTHER, KEY, FALSE)
    return made


def signed_at(seconds: float) -> Callable[[LocalEthereum], CcipGateway]:
    """A gateway that says the false text of the name, with the right signature of that time."""

    def gateway(ethereum: LocalEthereum) -> CcipGateway:
        made = CcipGateway(ethereum.gateway_account, lambda: seconds)
        made.set_text(NAME, KEY, FALSE)
        return made

    return gateway


NOT_SIGNED = "the signature is not the signer's"


@pytest.mark.parametrize(
    ("handler", "said"),
    [
        pytest.param(lambda ethereum: ethereum.ccip, NAMES["wildcard, GET gateway"].text, id="right"),
        pytest.param(lambda ethereum: with_other_text(ethereum.ccip, FALSE), NOT_SIGNED, id="changed on the way"),
        pytest.param(lambda ethereum: of_other_name(ethereum.ccip, OTHER), NOT_SIGNED, id="of another name"),
        pytest.param(signed_at(NOW - 86_400), "the signature has expired", id="of yesterday"),
        pytest.param(signed_at(NOW), FALSE, id="the same of today"),
    ],
)
def test_a_contract_refuses_a_gateways_answer_for_what_is_false_in_it(
    ethereum: LocalEthereum, handler: Callable[[LocalEthereum], Handler], said: str
) -> None:
    assert judge(ethereum, handler(ethereum)) == said


def test_the_answer_about_another_name_is_right_for_that_one(ethereum: LocalEthereum) -> None:
    assert judge(ethereum, of_other_name(ethereum.ccip, OTHER), OTHER) == FALSE


def test_an_endpoint_lies_about_texts_and_about_nothing_else(ethereum: LocalEthereum) -> None:
    liars = LyingEndpoints(ethereum.answer_json_rpc)
    liars.texts["/first"] = FALSE
    questions = [
        text_call(CONTRACTS.resolver, "alice.eth", KEY),
        ttl_call(CONTRACTS.registry, "alice.eth"),
        text_call(CONTRACTS.resolver, "nobody.eth", KEY),
    ]

    def ask(path: str) -> list[Outcome]:
        body = liars(GatewayRequest("POST", path, (), write_batch(questions), "", "", "")).body
        return list(read_batch(body, questions, chain=1, now=NOW)[1])

    honest, lied = ask("/second"), ask("/first")
    assert isinstance(lied[0], Returned)
    assert isinstance(honest[0], Returned)
    (false, resolver), (right, same) = read_text(lied[0].data), read_text(honest[0].data)
    assert (false, right, resolver) == (FALSE, NAMES["on chain"].text, same)
    assert lied[1:] == honest[1:]
    assert liars.lied == ["/first"]


def judge(ethereum: LocalEthereum, handler: Handler, name: str = NAME) -> str:
    """The text that is found with a gateway's answer, or why its contract reverts."""

    def ask(request: OffchainRequest) -> OffchainAnswer:
        assert request.body is None
        answer = handler(GatewayRequest("GET", request.url.removeprefix(HOST), (), b"", "", "", ""))
        assert "data" in json.loads(answer.body)
        return OffchainAnswer(answer.status, answer.body)

    call = text_call(CONTRACTS.resolver, name, KEY)
    lookup = OffchainLookup.read(ethereum.chain.call(ChainCall(call.to, call.data)).data)
    callback = lookup.callback_call(drive(Gateways().fetch(lookup), ask))
    outcome = ethereum.chain.call(ChainCall(callback.to, callback.data))
    if isinstance(outcome, Returned):
        return read_text(outcome.data)[0]
    assert outcome.error == "ResolverError"
    [error] = decode("bytes", outcome.data[4:])
    [why] = decode("string", error[4:])
    assert isinstance(why, str)
    return why
