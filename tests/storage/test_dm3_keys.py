"""The delivery service's keys in their secret."""

import pytest
from tests.aws import Deployed
from tests.fakes.clock import FakeClock

from postroom.core.errors import NotNowError
from postroom.core.reasons import SIGNING_KEY_UNAVAILABLE
from postroom.protocols.dm3.service import ServiceKeys
from postroom.storage.secrets.dm3_keys import DeliveryServiceKeys


def keys_of(deployed: Deployed, clock: FakeClock) -> DeliveryServiceKeys:
    return DeliveryServiceKeys(deployed.clients.secrets, deployed.secrets["DeliveryServiceKeys"], clock)


@pytest.mark.parametrize("algorithm", ["secp256k1", "ed25519"])
def test_keys_are_stored_and_are_the_same_afterwards(deployed: Deployed, algorithm: str) -> None:
    made = ServiceKeys.generate(algorithm).rotated()
    keys_of(deployed, FakeClock(0)).put(made)
    assert keys_of(deployed, FakeClock(0)).get() == made


def test_missing_keys_are_a_not_now_error(deployed: Deployed) -> None:
    with pytest.raises(NotNowError) as caught:
        keys_of(deployed, FakeClock(0)).get()
    assert caught.value.reason is SIGNING_KEY_UNAVAILABLE


def test_new_keys_are_seen_within_a_minute(deployed: Deployed) -> None:
    clock = FakeClock(0)
    reading, old = keys_of(deployed, clock), ServiceKeys.generate()
    keys_of(deployed, clock).put(old)
    assert reading.get() == old
    keys_of(deployed, clock).put(old.rotated())
    clock.now = 44.9
    assert reading.get() is reading.get()
    assert reading.get() == old
    assert reading.get(fresh=True).encryption[1:] == old.encryption
    keys_of(deployed, clock).put(old)
    assert reading.get(fresh=True) != old, "read a moment ago"
    clock.now += 2
    assert reading.get(fresh=True) == old
    keys_of(deployed, clock).put(old.rotated())
    clock.now += 45
    assert reading.get().encryption[1:] == old.encryption
