import json
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from botocore.exceptions import ConnectTimeoutError
from tests.aws import Deployed
from tests.fakes.clock import FakeClock

from postroom.core.errors import NotNowError, OurError
from postroom.core.reasons import SIGNING_KEY_UNAVAILABLE
from postroom.crypto.rsa_ed25519 import PrivateKey
from postroom.storage.secrets.secret import MAX_SECRET_BYTES, Secret
from postroom.storage.secrets.signing_keys import SigningKeys

KEY, OTHER = PrivateKey.generate("ed25519"), PrivateKey.generate("ed25519")


def keys_of(deployed: Deployed, clock: FakeClock, secret: str = "") -> SigningKeys:
    return SigningKeys(deployed.clients.secrets, secret or deployed.secrets["SigningKeys"], clock)


def test_a_key_is_stored_and_signs_as_before(deployed: Deployed) -> None:
    keys_of(deployed, FakeClock(0)).put("a.com", "pk1", KEY)
    found = keys_of(deployed, FakeClock(0)).of("a.com")
    assert found is not None
    assert found.selector == "pk1"
    assert found.key.public == KEY.public
    assert KEY.public.verify(found.key.sign(b"text"), b"text")


def test_a_domain_without_a_key_has_none(deployed: Deployed) -> None:
    assert keys_of(deployed, FakeClock(0)).of("a.com") is None


def test_storing_one_key_leaves_the_others(deployed: Deployed) -> None:
    keys = keys_of(deployed, FakeClock(0))
    keys.put("a.com", "pk1", KEY)
    keys.put("b.com", "pk2", OTHER)
    keys.put("a.com", "pk3", OTHER)
    a, b = keys.of("a.com"), keys.of("b.com")
    assert a is not None
    assert b is not None
    assert (a.selector, a.key.public, b.selector) == ("pk3", OTHER.public, "pk2")


def test_a_full_secret_is_an_error_and_nothing_is_lost(deployed: Deployed) -> None:
    keys = keys_of(deployed, FakeClock(0))
    keys.put("a.com", "pk1", KEY)
    filler = {f"{n}.com": {"selector": "s" * 900, "pem": KEY.to_pem().decode()} for n in range(63)}
    filler["a.com"] = {"selector": "pk1", "pem": KEY.to_pem().decode()}
    while len(json.dumps(filler, sort_keys=True)) < MAX_SECRET_BYTES - 100:
        filler["a.com"]["selector"] += "s"
    before = json.dumps(filler, sort_keys=True)
    deployed.clients.secrets.put_secret_value(SecretId=deployed.secrets["SigningKeys"], SecretString=before)
    with pytest.raises(OurError, match="65 keys"):
        keys.put("b.com", "pk1", KEY)
    assert deployed.clients.secrets.get_secret_value(SecretId=deployed.secrets["SigningKeys"])["SecretString"] == before


def test_a_secret_that_would_exceed_its_limit_is_unchanged(deployed: Deployed) -> None:
    secret = Secret(deployed.clients.secrets, deployed.secrets["SigningKeys"], FakeClock(0), "an object")
    longest = {"a": "x" * (MAX_SECRET_BYTES - len(json.dumps({"a": ""})))}
    secret.put(longest)
    assert secret.read() == longest
    with pytest.raises(OurError, match=f"would exceed {MAX_SECRET_BYTES} bytes"):
        secret.put({"a": longest["a"] + "x"})
    assert secret.read() == longest


def test_a_missing_secret_is_a_not_now_error(deployed: Deployed) -> None:
    with pytest.raises(NotNowError) as caught:
        keys_of(deployed, FakeClock(0), "no-such-secret").of("a.com")
    assert caught.value.reason is SIGNING_KEY_UNAVAILABLE


def test_a_new_key_is_seen_within_a_minute(deployed: Deployed) -> None:
    clock = FakeClock(0)
    reading = keys_of(deployed, clock)
    assert reading.of("a.com") is None
    keys_of(deployed, clock).put("a.com", "pk1", KEY)
    clock.now = 44.9
    assert reading.of("a.com") is None
    clock.now = 45
    assert reading.of("a.com") is not None


class Secrets:
    """A Secrets Manager that takes a moment to answer, and counts; or is away."""

    def __init__(self, *, away: bool = False) -> None:
        self.reads, self._away = 0, away

    def get_secret_value(self, SecretId: str) -> dict[str, str]:  # noqa: N803 - boto3 names it so
        self.reads += 1
        time.sleep(0.05)
        if self._away:
            raise ConnectTimeoutError(endpoint_url="https://secretsmanager.example")
        return {"SecretString": json.dumps({"a": 1})}


def by_many_threads(secret: Secret) -> list[Any]:
    """What 8 threads that ask at the same moment are told, or what stops them."""

    def ask(_: int) -> object:
        together.wait()
        try:
            return secret.entries()
        except NotNowError as error:
            return error.reason

    together = Barrier(8)
    with ThreadPoolExecutor(8) as pool:
        return list(pool.map(ask, range(8)))


def test_threads_that_need_a_secret_at_the_same_moment_share_one_request() -> None:
    secrets: Any = Secrets()
    assert by_many_threads(Secret(secrets, "s", FakeClock(0), "an object")) == [{"a": 1}] * 8
    assert secrets.reads == 1


def test_an_unreadable_secret_delays_one_thread_and_is_read_again_soon() -> None:
    secrets: Any = Secrets(away=True)
    clock = FakeClock(0)
    secret = Secret(secrets, "s", clock, "an object")
    assert by_many_threads(secret) == [SIGNING_KEY_UNAVAILABLE] * 8
    assert secrets.reads == 1
    clock.now = 2
    assert by_many_threads(secret) == [SIGNING_KEY_UNAVAILABLE] * 8
    assert secrets.reads == 2
