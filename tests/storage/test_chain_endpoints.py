"""The endpoints of the chain in their secret."""

import json

import pytest
from tests.aws import Deployed
from tests.fakes.clock import FakeClock

from postroom.core.errors import NotNowError, SettingsError
from postroom.core.own_faults import OwnFaults
from postroom.core.reasons import SIGNING_KEY_UNAVAILABLE
from postroom.storage.secrets.chain_endpoints import ChainEndpointUrls, read_chain_endpoints

KEY = "an-api-key"
URLS = (f"https://rpc.example/v3/{KEY}", "https://other.example:8545/", "http://127.0.0.1:8545")


def endpoints_of(deployed: Deployed, clock: FakeClock, own_faults: OwnFaults | None = None) -> ChainEndpointUrls:
    return ChainEndpointUrls(deployed.clients.secrets, deployed.secrets["ChainEndpoints"], clock, own_faults)


def test_a_new_deployment_has_no_endpoints(deployed: Deployed) -> None:
    assert endpoints_of(deployed, FakeClock(0)).get() == ()


def test_endpoints_are_stored_in_their_order_and_seen_within_a_minute(deployed: Deployed) -> None:
    clock = FakeClock(0)
    reading = endpoints_of(deployed, clock)
    assert reading.get() == ()
    endpoints_of(deployed, clock).put(URLS)
    clock.now += 44.9
    assert reading.get() == ()
    clock.now += 0.1
    assert reading.get() == URLS


MALFORMED = [
    {"endpoints": f"https://rpc.example/{KEY}"},
    {"endpoints": [7]},
    {"endpoints": [f"https://rpc.example/{KEY}"], "more": 1},
    {KEY: []},
    {"endpoints": [f"ftp://rpc.example/{KEY}"]},
    {"endpoints": [f"https://user:{KEY}@rpc.example/"]},
    {"endpoints": [f"https://rpc.example/{KEY}"] * 2},
    {"endpoints": [f"https://rpc.example/{KEY}", f"HTTPS://RPC.example.:443/{KEY}"]},
    [f"https://rpc.example/{KEY}"],
]


@pytest.mark.parametrize("value", MALFORMED[:-1], ids=str)
def test_a_malformed_secret_is_a_fault_of_ours_and_is_not_quoted(deployed: Deployed, value: object) -> None:
    own_faults = OwnFaults()
    deployed.clients.secrets.put_secret_value(
        SecretId=deployed.secrets["ChainEndpoints"], SecretString=json.dumps(value)
    )
    with pytest.raises(NotNowError) as caught:
        endpoints_of(deployed, FakeClock(0), own_faults).get()
    assert caught.value.reason is SIGNING_KEY_UNAVAILABLE
    [fault] = own_faults.take()
    assert "postroom dm3 chain put" in str(fault)
    assert KEY not in str(fault) + str(caught.value)


@pytest.mark.parametrize("value", MALFORMED, ids=str)
def test_another_form_is_refused_without_quoting_it(value: object) -> None:
    with pytest.raises(SettingsError) as caught:
        read_chain_endpoints(value)
    assert KEY not in str(caught.value)
