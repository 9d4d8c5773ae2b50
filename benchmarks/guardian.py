"""A request at the guardian of the mailbox API, compared with the same request over HTTP with a token."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median
from types import ModuleType
from typing import Any, Final

import boto3
from benchmarks.lambdas import ENVIRONMENT, Event, clients_of, invoke, start, unheard
from tests.aws import deploy_on
from tests.fakes.clock import FakeClock
from tests.functions.samples import dcp_event, http
from tests.http.api_stack import HOST, SHOP, ApiStack
from tests.http.dcp_peers import OWNER, give_keys
from tests.protocols.dcp.guarded import Peer

from postroom.crypto.ethereum import Address
from postroom.local.clients import REGION
from postroom.local.emulator import Emulator

BATCH: Final = 10
_ACCOUNT: Final = "100000000002"
_HALF: Final = "benchmark-of-guardian"


@dataclass
class TimedGuardian:
    """The guardian of the function of DCP. `seconds`: that its last answer took."""

    function: ModuleType
    seconds: float = 0.0

    def answer(self, data: bytes, now: float = 0.0) -> dict[str, Any]:
        """The body of the answer."""
        event = dcp_event(data, int(now))
        started = time.perf_counter()
        answer = invoke(self.function, event)
        self.seconds = time.perf_counter() - started
        body: dict[str, Any] = json.loads(str(answer["body"]))["body"]
        return body


def status_compared(rounds: int) -> tuple[float, float]:
    """The times of `status` over DCP, and of one of a batch of ten, each to that over HTTP."""
    with _running() as (mailbox_function, dcp_function, token, guardian):
        timed = TimedGuardian(dcp_function)
        now = time.time()
        peer = Peer.connected(timed, OWNER, half=_HALF, guardian=guardian, now=now)
        data = {"mailbox": SHOP}
        over_http, over_dcp, in_batch = [], [], []
        for _ in range(rounds):
            peer.now = time.time()
            event = status_event(token, int(peer.now))
            started = time.perf_counter()
            invoke(mailbox_function, event)
            over_http.append(time.perf_counter() - started)
            peer.send(peer.request("status", data, keys=(OWNER,)))
            over_dcp.append(timed.seconds)
            peer.send(peer.batch(*(peer.request("status", data, keys=(OWNER,)) for _ in range(BATCH))))
            in_batch.append(timed.seconds / BATCH)
        return median(over_dcp) / median(over_http), median(in_batch) / median(over_http)


def status_event(token: str, now: int) -> Event:
    """The event of `status` over HTTP."""
    url = f"https://{HOST}/mailboxes/{SHOP}/status"
    return http("GET", url, now, headers={"authorization": f"Bearer {token}"})


@contextmanager
def _running() -> Iterator[tuple[ModuleType, ModuleType, str, Address]]:
    """The functions of the mailbox API and of DCP, the token of a mailbox's owner, and the guardian's address."""
    with deployed() as (variables, token, guardian):
        session = boto3.Session(variables["AWS_ACCESS_KEY_ID"], variables["AWS_SECRET_ACCESS_KEY"], region_name=REGION)
        mailbox, dcp = (start(name, variables, lambda: clients_of(session)) for name in ("mailbox", "dcp"))
        yield mailbox, dcp, token, guardian


@contextmanager
def deployed() -> Iterator[tuple[dict[str, str], str, Address]]:
    """The variables of both functions at an embedded AWS, and the same token and address."""
    with Emulator() as emulator, unheard():
        api = ApiStack(deploy_on(emulator.clients(_ACCOUNT)), FakeClock(time.time()))
        give_keys(api)
        store = api.deployed
        variables = {
            **ENVIRONMENT,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_ACCESS_KEY_ID": _ACCOUNT,
            "AWS_SECRET_ACCESS_KEY": emulator.secret,
            **{f"{name.removesuffix('Table').upper()}_TABLE": table for name, table in store.tables.items()},
            "AWS_ENDPOINT_URL": emulator.endpoint,
            "BUCKET": store.bucket,
            "TOKEN_KEYS_SECRET": store.secrets["TokenKeys"],
            "WEBHOOK_KEYS_SECRET": store.secrets["WebhookKeys"],
            "DCP_IDENTITIES_SECRET": store.secrets["DcpIdentities"],
            "MAILBOX_API_REQUESTS_PER_SECOND": "100000",
        }
        yield variables, api.sign_in(), api.dcp_identities.newest_first()[0].key.address
