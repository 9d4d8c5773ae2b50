"""The chain of the stack: its names are found by way of the stack's DNS and TLS, and who has one is verified."""

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import NamedTuple

import pytest
from tests.end_to_end.test_dm3 import find, write
from tests.end_to_end.test_dm3 import https as https
from tests.patience import PATIENCE

from postroom.cli.up import describe_stack
from postroom.client import SendOutcome
from postroom.client.dm3 import Dm3Draft, Dm3Sender, Dm3Sent
from postroom.demo.chain_names import CAROL, ERIN
from postroom.demo.deployment import until
from postroom.demo.names import ALICE, MALLORY, profile_of
from postroom.demo.stack import DemoStack
from postroom.local.chain.accounts import ChainAccount
from postroom.local.chain.hosts import CCIP_HOST, IPFS_GATEWAY, chain_endpoints
from postroom.names.dns import Resolvers
from postroom.names.ens.endpoints import ChainEndpoints
from postroom.names.ens.ens import Ens
from postroom.names.ens.lookup import Contracts
from postroom.names.ens.rpc import MAX_ANSWER_BYTES
from postroom.names.host_addresses import addresses
from postroom.names.ipfs.gateways import IpfsGateways
from postroom.names.profile_documents import ProfileDocuments
from postroom.names.profiles import Profiles
from postroom.names.registry import PROFILE_KEY, MemoryRegistry
from postroom.names.uris import ReadUri, uri_reader
from postroom.net.endpoint_client import EndpointClient
from postroom.net.https import HttpsClient
from postroom.protocols.dm3.extension import FilterRules, ProfileExtension
from postroom.protocols.dm3.profile import data_uri
from postroom.storage.directory.domains import Dm3Mailbox

pytestmark = pytest.mark.xdist_group("demo")


class Reader(NamedTuple):
    """Looks names up, and reads what their texts lead to."""

    ens: Ens
    read: ReadUri


@pytest.fixture
def reader(demo_stack: DemoStack) -> Iterator[Reader]:
    stack = demo_stack.stack
    descriptor = describe_stack(stack, chain_endpoints(stack.edge.port))
    with ExitStack() as undo:
        clients = [
            EndpointClient(url, max_response_bytes=MAX_ANSWER_BYTES, ca_file=descriptor.ca_file)
            for url in descriptor.chain_endpoints
        ]
        for client in clients:
            undo.callback(client.close)
        resolvers = undo.enter_context(Resolvers(descriptor.resolvers))
        https = HttpsClient(
            lambda host: addresses(host, resolvers.asking()),
            port=descriptor.port,
            allow_private=True,
            ca_file=descriptor.ca_file,
        )
        endpoints = ChainEndpoints(clients, len(clients), 1, undo.enter_context(ThreadPoolExecutor(len(clients))))
        documents = ProfileDocuments(https, IpfsGateways((IPFS_GATEWAY,), https), time.time)
        yield Reader(Ens(endpoints, https, Contracts(), time.time, PATIENCE), uri_reader(lambda: documents))


@pytest.mark.parametrize(("name", "scheme", "gateways"), [(ALICE, "data", 0), (CAROL, "data", 1), (ERIN, "ipfs", 0)])
def test_a_name_in_ens_leads_to_its_profile(
    demo_stack: DemoStack, reader: Reader, name: str, scheme: str, gateways: int
) -> None:
    answer = reader.ens.text(name, PROFILE_KEY)
    text = answer.found.value
    assert isinstance(text, str)
    assert text.partition(":")[0] == scheme
    assert reader.read(text).value == profile_of(demo_stack.names.keys_of(name))
    assert [CCIP_HOST in url for url in answer.found.gateways] == [True] * gateways
    assert {agreed.alike for agreed in answer.agreed} == {2}


@pytest.mark.parametrize(("name", "scheme"), [(CAROL, "data"), (ERIN, "ipfs")])
def test_somebody_whom_no_operator_has_written_down_is_verified_by_ens(
    demo_stack: DemoStack, https: HttpsClient, name: str, scheme: str
) -> None:
    keys = demo_stack.names.keys_of(name)
    receipt = find(demo_stack, write(demo_stack, https, f"Good morning from {name}", name, keys)).line.receipt
    assert (receipt["key_fingerprint"], receipt["unverified"]) == (keys.signing.public.fingerprint, None)
    evidence = receipt["evidence"]
    assert (evidence["registry"], evidence["agreed"], evidence["uri"]) == ("ens", 2, scheme)


def test_a_name_in_ens_does_not_help_who_has_not_its_key(demo_stack: DemoStack, https: HttpsClient) -> None:
    sent = write(demo_stack, https, "I am not she", CAROL, demo_stack.names.users[MALLORY])
    assert sent.fate is SendOutcome.REFUSED
    assert "SenderSignatureInvalid" in str(sent)


@pytest.fixture
def _erin_wants_accounts_in_use(demo_stack: DemoStack) -> Iterator[None]:
    operators = demo_stack.receiver.operators
    operators.put_dm3_mailbox(Dm3Mailbox(ERIN, ProfileExtension(rules=FilterRules(min_nonce=1))))
    yield
    operators.remove_dm3_mailbox(ERIN)


@pytest.mark.usefixtures("_erin_wants_accounts_in_use")
def test_only_a_sender_whose_account_has_made_a_transaction_is_let_in(
    demo_stack: DemoStack, https: HttpsClient
) -> None:
    ethereum, account = demo_stack.ethereum, ChainAccount.of_label(CAROL)
    ethereum.ens.give(account.address, 10**18)
    ethereum.ens.commit()
    ethereum.chain.send(account.transaction(ethereum.chain.nonce(account.address), account.address))
    fates = {name: send_to_erin(demo_stack, https, name).fate for name in (CAROL, ALICE)}
    assert fates == {CAROL: SendOutcome.TAKEN, ALICE: SendOutcome.REFUSED}


def send_to_erin(demo_stack: DemoStack, https: HttpsClient, name: str) -> Dm3Sent:
    names = demo_stack.names
    texts = json.loads(names.registry_file.read_bytes())
    texts[ERIN] = {PROFILE_KEY: data_uri(profile_of(names.keys_of(ERIN)))}
    sender = Dm3Sender(name, names.keys_of(name), Profiles(MemoryRegistry(texts), time.time), https)

    def attempt() -> Dm3Sent | None:
        # On a busy machine, a look-up may take longer than it may.
        sent = sender.send(Dm3Draft(ERIN, "May I come in?"))
        return None if sent.fate is SendOutcome.NOT_NOW else sent

    return until("it is taken or refused", attempt)
