"""The status of a mailbox at the local stack, over DCP and over HTTP, as a client in another process has it."""

import time
from base64 import b64encode
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from statistics import median
from typing import Final

from benchmarks.lambdas import unheard
from tests.http.dcp_peers import OWNER

from postroom.client import Mailbox
from postroom.crypto.ethereum_keys import EthereumKey
from postroom.demo.deployment import DemoDeployment
from postroom.local.checkout import template_path
from postroom.local.stack import LocalStack
from postroom.protocols.dm3.keys import PrivateSigningKey
from postroom.protocols.nlweb.schema import NLWEB
from postroom.storage.directory.domains import Domain

_DOMAIN: Final = "receiver.example"
_MAILBOX: Final = f"shop.{_DOMAIN}"
_REQUESTS: Final = 20
"""Of each kind, one after the other, in a round; the fastest of each are compared."""


def local_status_compared(rounds: int) -> float:
    """The time of `status` over DCP to that over HTTP: the median of the rounds."""
    key = PrivateSigningKey.decode(f"secp256k1:{b64encode(OWNER.secret).decode()}")
    with unheard(), LocalStack(template_path()) as stack:
        stack.tree.put(_DOMAIN, "nlweb IN A 127.0.0.1\n")
        served = DemoDeployment(_DOMAIN, stack.deploy("benchmark"))
        served.deployment.serve_host(NLWEB.host(_DOMAIN))
        served.operators.put_domain(Domain(_DOMAIN))
        served.mailboxes.set_keys(_MAILBOX, [key.public.encode()])
        # In the process of the stack, the client would take turns with its TLS.
        with ProcessPoolExecutor(1, get_context("spawn")) as pool:
            return pool.submit(_ratio, OWNER.secret, str(stack.authority.pem), stack.edge.port, rounds).result()


def _ratio(secret: bytes, ca_file: str, port: int, rounds: int) -> float:
    url, address = f"https://{NLWEB.host(_DOMAIN)}", ("127.0.0.1", port)
    key = PrivateSigningKey.decode(f"secp256k1:{b64encode(secret).decode()}")
    with (
        Mailbox(url, _MAILBOX, key, ca_file=ca_file, connect=address) as over_http,
        Mailbox(url, _MAILBOX, EthereumKey.from_secret(secret), dcp=True, ca_file=ca_file, connect=address) as over_dcp,
    ):
        found = []
        for _ in range(rounds):
            fastest = {each: min(_seconds(each) for _ in range(_REQUESTS)) for each in (over_http, over_dcp)}
            found.append(fastest[over_dcp] / fastest[over_http])
    return median(found)


def _seconds(mailbox: Mailbox) -> float:
    started = time.perf_counter()
    mailbox.status()
    return time.perf_counter() - started
