"""Senders whom no operator has written down: functions/dm3 finds them in DNS and in ENS."""

import base64
import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from threading import Event
from typing import Any

import pytest
from tests.functions.logs import log_lines
from tests.functions.newcomers import API_KEY, CAROL, DAN, Newcomers
from tests.functions.newcomers import newcomers as newcomers
from tests.functions.samples import (
    ALICE,
    BOB,
    MADE_AT,
    SERVICE,
    dcp_connect,
    dcp_event,
    dcp_key,
    http,
    profile_uri,
    sqs,
    user_keys,
)
from tests.names.ens.nodes import TextNode
from tests.names.ens.vectors import RESOLVER
from tests.patience import PATIENCE

from postroom.crypto.ethereum import Address
from postroom.local.zones import Mode
from postroom.names.ens.calls import address_call
from postroom.names.registry import ADDRESS_KEY, PROFILE_KEY
from postroom.pipeline.look_ups import DCP_OWNERS_KIND, OWNERS_KIND, RECEIVERS_KIND, SENDERS_KIND, most_look_ups
from postroom.protocols.dcp.messages import Allowance
from postroom.protocols.dcp.payload import NewRequest, new_payload, request_body
from postroom.protocols.dcp.signed_message import sign_body
from postroom.protocols.dm3.extension import FilterRules, ProfileExtension
from postroom.protocols.dm3.profile import UserProfile
from postroom.runtime.system import new_id
from postroom.storage.directory.domains import Dm3Mailbox
from postroom.storage.limits.held_runs import HeldRuns
from postroom.storage.secrets.chain_endpoints import ChainEndpointUrls


def test_a_sender_in_a_signed_zone_is_verified(newcomers: Newcomers) -> None:
    newcomers.publish(profile_uri(user_keys(DAN)))
    assert newcomers.submit(DAN) == "accepted"
    [claim] = newcomers.running.deployed.bodies("ClaimsQueue")
    assert user_keys(DAN).signing.public.fingerprint in json.dumps(claim)
    assert newcomers.servers[0].bodies == []


def test_a_sender_in_ens_is_verified_by_endpoints_that_agree(newcomers: Newcomers) -> None:
    assert newcomers.submit(CAROL) == "accepted"
    assert [len(server.bodies) for server in newcomers.servers] == [1, 1]
    assert newcomers.servers[0].paths == [f"/{API_KEY}"]


def test_the_account_of_a_sender_is_looked_up_over_the_connections_of_their_text(newcomers: Newcomers) -> None:
    rules = ProfileExtension(rules=FilterRules(min_nonce=1))
    newcomers.running.deployed.storage.operators.put_dm3_mailbox(Dm3Mailbox(BOB, rules))
    assert newcomers.submit(CAROL) == "SenderNotWanted", "the name has no address"
    assert [(len(server.bodies), server.connections) for server in newcomers.servers] == [(2, 1)] * 2


def test_nobody_else_is_verified_by_their_names(newcomers: Newcomers) -> None:
    newcomers.publish(profile_uri(user_keys(DAN)))
    assert [newcomers.submit("eve.eth", as_sender=name) for name in (DAN, CAROL)] == ["SenderSignatureInvalid"] * 2
    assert newcomers.running.deployed.bodies("ClaimsQueue") == []


def test_a_name_that_is_in_no_registry_has_no_profile(newcomers: Newcomers) -> None:
    assert [newcomers.submit(name) for name in ("nobody.eth", "nobody.example", "nobody")] == ["ProfileUnknown"] * 3


def test_without_endpoints_no_name_is_in_ens_and_those_in_dns_are_found(newcomers: Newcomers) -> None:
    newcomers.publish(profile_uri(user_keys(DAN)))
    deployed = newcomers.running.deployed
    ChainEndpointUrls(deployed.clients.secrets, deployed.secrets["ChainEndpoints"], time.time).put([])
    assert [newcomers.submit(name) for name in (CAROL, DAN)] == ["ProfileUnknown", "accepted"]
    assert [server.bodies for server in newcomers.servers] == [[], []]


def test_a_record_without_dnssec_is_not_believed(newcomers: Newcomers) -> None:
    newcomers.publish(profile_uri(user_keys(DAN)), Mode.UNSIGNED)
    assert newcomers.submit(DAN) == "ProfileUnknown"


def test_a_record_that_is_not_signed_as_its_zone_says_is_refused(newcomers: Newcomers) -> None:
    newcomers.publish(profile_uri(user_keys(DAN)), Mode.BOGUS)
    assert newcomers.submit(DAN) == "ProfileNotProven"


def test_an_endpoint_that_lies_is_not_believed(newcomers: Newcomers) -> None:
    newcomers.nodes[0].outcomes = TextNode({CAROL: {PROFILE_KEY: profile_uri(user_keys("eve.eth"))}}).outcomes
    assert newcomers.submit(CAROL) == newcomers.submit("eve.eth", as_sender=CAROL) == "ProfileLookupFailed"


def test_a_name_that_is_too_slow_for_a_request_is_found_by_the_next_try(newcomers: Newcomers) -> None:
    running, slow = newcomers.running, Event()

    def answer_slowly(node: TextNode) -> Callable[[bytes], bytes]:
        def answer(body: bytes) -> bytes:
            assert slow.wait(PATIENCE)
            return node(body)

        return answer

    for server, node in zip(newcomers.servers, newcomers.nodes, strict=True):
        server.answer = answer_slowly(node)
    with newcomers.in_haste():
        assert newcomers.submit_until_requested(CAROL, CAROL) == "ProfileLookupFailed"
    [body] = newcomers.requested(CAROL)
    slow.set()
    newcomers.running.wait_for_look_ups()
    assert running.invoke("WaitingFunction", sqs("NamesQueue", MADE_AT, body)) == {"batchItemFailures": []}
    for server in newcomers.servers:
        server.answer = lambda _: (500, {}, b"")
    running.end()
    assert newcomers.submit(CAROL) == "accepted"


def test_an_account_that_is_too_slow_for_a_request_is_found_by_the_next_try(newcomers: Newcomers) -> None:
    running, has_no_address = newcomers.running, Event()
    rules = ProfileExtension(rules=FilterRules(min_nonce=1))
    running.deployed.storage.operators.put_dm3_mailbox(Dm3Mailbox(BOB, rules))
    of_address = address_call(RESOLVER, CAROL).data.hex().encode()

    def answer_slowly(node: TextNode) -> Callable[[bytes], bytes]:
        def answer(body: bytes) -> bytes:
            assert of_address not in body or has_no_address.wait(PATIENCE)
            return node(body)

        return answer

    for server, node in zip(newcomers.servers, newcomers.nodes, strict=True):
        server.answer = answer_slowly(node)
    profile = json.dumps({"name": CAROL, "key": PROFILE_KEY})
    assert running.invoke("WaitingFunction", sqs("NamesQueue", MADE_AT, profile)) == {"batchItemFailures": []}
    with newcomers.in_haste():
        assert newcomers.submit_until_requested(CAROL, ADDRESS_KEY) == "FilterRuleUnchecked"
    [body] = newcomers.requested(ADDRESS_KEY)
    has_no_address.set()
    newcomers.running.wait_for_look_ups()
    assert running.invoke("WaitingFunction", sqs("NamesQueue", MADE_AT, body)) == {"batchItemFailures": []}
    has_no_address.clear()
    running.end()
    assert newcomers.submit(CAROL) == "SenderNotWanted"


def test_senders_whose_profiles_are_looked_up_hold_a_share_of_the_runs_and_those_that_are_known_hold_none(
    newcomers: Newcomers,
) -> None:
    running, deployed = newcomers.running, newcomers.running.deployed
    with all_held(newcomers, SENDERS_KIND):
        assert newcomers.submit(CAROL) == "TooManyLookUps"
        assert [server.bodies for server in newcomers.servers] == [[], []]
        assert newcomers.submit(ALICE) == "accepted", "the profile is pinned"
    assert newcomers.submit(CAROL) == "accepted"
    assert not [row for row in deployed.rows("LimitsTable") if SENDERS_KIND in row["pk"]["S"]]
    with all_held(newcomers, SENDERS_KIND):
        assert newcomers.submit(CAROL) == "accepted", "the profile is in memory"
        running.end()
        assert newcomers.submit(CAROL) == "TooManyLookUps"
        look_up = sqs("NamesQueue", MADE_AT, json.dumps({"name": CAROL, "key": PROFILE_KEY}))
        assert running.invoke("WaitingFunction", look_up) == {"batchItemFailures": []}
        assert newcomers.submit(CAROL) == "accepted", "the text is kept for all instances"


def test_receivers_whose_profiles_are_looked_up_hold_runs_of_their_own(newcomers: Newcomers) -> None:
    newcomers.publish(profile_uri(user_keys(DAN)))
    newcomers.running.deployed.storage.operators.put_dm3_mailbox(Dm3Mailbox(DAN))
    with all_held(newcomers, RECEIVERS_KIND):
        assert newcomers.submit(ALICE, to=DAN) == "TooManyLookUps"
        assert newcomers.submit(CAROL) == "accepted"
    with all_held(newcomers, SENDERS_KIND):
        assert newcomers.submit(ALICE, to=DAN) == "accepted"


@pytest.mark.parametrize("path", ["profile", "auth"])
def test_owners_whose_profiles_are_looked_up_hold_a_share_of_the_runs_of_the_mailbox_api(
    newcomers: Newcomers, path: str
) -> None:
    """Of any name, for whose look-up anybody can ask; also of one with a mailbox, whose zone has fallen silent."""
    running = newcomers.running
    running.parameters |= {"MailboxApiReservedConcurrency": "10", "Dm3SelfRegistration": SERVICE}
    newcomers.publish(profile_uri(user_keys(DAN)))
    if path == "auth":
        running.deployed.storage.operators.put_dm3_mailbox(Dm3Mailbox(DAN))

    def ask() -> Any:
        keys = user_keys(DAN)
        body: Any = {"profile": UserProfile(keys.encryption.public, keys.signing.public, (SERVICE,)).as_json()}
        body |= {"signature": "0x"}
        at = f"https://nlweb.receiver.example/{path}/{DAN}"
        if path == "auth":
            challenge = json.loads(running.invoke("MailboxFunction", http("GET", at, MADE_AT))["body"])
            signature = base64.b64encode(keys.signing.sign(challenge.encode())).decode()
            body = {"challenge": challenge, "signature": signature}
        headers = {"content-type": "application/json"}
        answer = running.invoke("MailboxFunction", http("POST", at, MADE_AT, json.dumps(body).encode(), headers))
        return answer["statusCode"], answer["headers"].get("Retry-After"), answer["body"]

    with all_held(newcomers, OWNERS_KIND):
        status, retry_after, answer = ask()
        assert (status, retry_after is not None, "TooManyLookUps" in answer) == (503, True, True)
    assert ask()[0] == 200
    assert not [row for row in running.deployed.rows("LimitsTable") if OWNERS_KIND in row["pk"]["S"]]


def test_those_that_are_looked_up_for_requests_of_dcp_hold_runs_of_their_own(newcomers: Newcomers) -> None:
    running = newcomers.running
    running.parameters["DcpReservedConcurrency"] = "10"
    newcomers.publish(profile_uri(user_keys(DAN)))
    running.deployed.storage.operators.put_dm3_mailbox(Dm3Mailbox(DAN))
    stranger = dcp_key()

    def ask() -> Any:
        session = json.loads(running.invoke("DcpFunction", dcp_event(dcp_connect()))["body"])
        guardian, session = Address(session["owner"].removeprefix("0x")), session["body"]
        validity: Any = {"time": MADE_AT, "stamp": new_id()}
        allow = [Allowance(stranger.address, guardian, stranger.address)]
        payload = new_payload("status", {"mailbox": DAN}, validity=validity, allow=allow)
        body = request_body(NewRequest(payload, [stranger]), payload, new_id(), hex_prefix=False)
        message = sign_body({**body, "dcpsid": session["dcpsid"], "nonce": session["nonce"]}, stranger)
        return running.invoke("DcpFunction", dcp_event(message))["body"]

    with all_held(newcomers, DCP_OWNERS_KIND):
        assert "TooManyLookUps" in ask()
    with all_held(newcomers, OWNERS_KIND):
        assert "NotTheOwner" in ask()


@contextmanager
def all_held(newcomers: Newcomers, kind: str) -> Iterator[None]:
    """Requests of others hold all runs of a function that may look up."""
    newcomers.running.parameters["Dm3ReservedConcurrency"] = "10"
    deployed = newcomers.running.deployed
    others = HeldRuns(
        deployed.clients.dynamodb, deployed.tables["LimitsTable"], kind,
        most=most_look_ups(10), seconds=int(PATIENCE), clock=time.time, new_id=new_id,
    )  # fmt: skip
    with ExitStack() as held:
        looking = [held.enter_context(others.hold(f"other{number}.example")) for number in range(20)]
        assert sum(looking) == most_look_ups(10) == 2
        yield


def test_no_key_of_a_provider_is_shown(newcomers: Newcomers, capsys: pytest.CaptureFixture[str]) -> None:
    for server in newcomers.servers:
        server.answer = lambda _: (500, {}, b"{}")
    assert newcomers.submit(CAROL) == "ProfileLookupFailed"
    shown = capsys.readouterr()
    assert log_lines(shown.out)
    assert API_KEY not in shown.out + shown.err
