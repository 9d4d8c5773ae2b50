"""The domains of the demo: several with signed zones, one deployment for the receiver, one for the buffer.

sender.example     signs with pk1; its manifest names buffer.example; its host is served by the buffer
receiver.example   the receiver's deployment; its key is also the key of its mailbox's owner
buffer.example     a second deployment of the same template; stores Feedback for sender.example
unsigned.example   signs its messages, but its zone is not signed
bogus.example      its zone's signatures are broken
quiet.example      like sender.example, but its key has not been looked up yet
dan.example        a dm3 name, whose profile is in its zone
polly.example      speaks the dialect of 2026; its selector is the first one of the pollyweb client

and the wallet names of `names`, some of them in ENS (`chain_names`) on a chain of the stack's own.
"""

import time
from base64 import b64encode
from contextlib import closing
from dataclasses import dataclass
from http.client import HTTPSConnection
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from postroom.crypto.rsa_ed25519 import Algorithm, PrivateKey
from postroom.demo.chain_names import PROFILE_HOST, ChainNames, profile_text
from postroom.demo.deployment import DemoDeployment
from postroom.demo.names import BOB, MALLORY, SERVICE, Names
from postroom.local.chain.hosts import IPFS_GATEWAY, RPC_HOSTS, ZONE, ZONE_TEXT, chain_endpoints
from postroom.local.chain.local_ethereum import LocalEthereum
from postroom.local.patience import PATIENT_SETTINGS
from postroom.local.ports import HOST
from postroom.local.stack import LocalStack
from postroom.local.zones import Mode
from postroom.names.publishing import text_record
from postroom.names.registry import PROFILE_KEY
from postroom.protocols.nlweb.key_record import record_text, zone_line
from postroom.protocols.nlweb.schema import NLWEB, POLLYWEB, Dialect
from postroom.protocols.nlweb.subjects import SubjectRule, Treatment
from postroom.storage.directory.domains import Domain

SENDER: Final = "sender.example"
RECEIVER: Final = "receiver.example"
BUFFER: Final = "buffer.example"
UNSIGNED: Final = "unsigned.example"
BOGUS: Final = "bogus.example"
QUIET: Final = "quiet.example"
POLLY: Final = "polly.example"
SUBJECT: Final = "Hello@Host"
ORDERS: Final = f"orders.{RECEIVER}"
ORDER: Final = "Order@Shop"
"""The Subject of messages to the mailbox ORDERS."""
DAN: Final = "dan.example"
_SERVED: Final = (SENDER, RECEIVER, BUFFER)
"""The domains with a post office; the others only send."""
_HOSTS = "nlweb IN A 127.0.0.1\npw IN A 127.0.0.1\ndm3 IN A 127.0.0.1\n"
DM3_HOST: Final = f"dm3.{RECEIVER}"
"""The host of ds.eth, the delivery service of the receiver's deployment."""


@dataclass(frozen=True)
class Correspondent:
    """A domain that sends, with its key, and the selector under which the public key is published."""

    domain: str
    selector: str
    key: PrivateKey
    dialect: Dialect = NLWEB


class DemoStack:
    """The domains and deployments of the demo. `keys`: a folder for private keys, which are reused if they exist."""

    def __init__(self, stack: LocalStack, keys: Path) -> None:
        self.stack = stack
        self._keys = keys
        parameters = {"Dm3SelfRegistration": SERVICE, "IpfsGateways": IPFS_GATEWAY}
        self.receiver = DemoDeployment(RECEIVER, stack.deploy("receiver", parameters, PATIENT_SETTINGS))
        self.buffer = DemoDeployment(BUFFER, stack.deploy("buffer", settings=PATIENT_SETTINGS))
        self.sender = self._settle(SENDER, "rsa")
        self.unsigned = self._settle(UNSIGNED, "ed25519", mode=Mode.UNSIGNED)
        self.bogus = self._settle(BOGUS, "ed25519", mode=Mode.BOGUS)
        self.quiet = self._settle(QUIET, "ed25519")
        self.polly = self._settle(POLLY, "ed25519", dialect=POLLYWEB, selector="pw1")
        for served in (self.receiver, self.buffer):
            ours = self._settle(served.domain, "ed25519")
            served.signing_keys.put(served.domain, ours.selector, ours.key)
            self._open(served, served.domain)
        self._open(self.buffer, SENDER)
        # If the state of the stack was kept, it has its operator's settings, which must not be overwritten.
        if RECEIVER not in self.receiver.operators.domains():
            self.receiver.operators.put_subject(RECEIVER, SubjectRule(SUBJECT, Treatment.MAILBOX, RECEIVER))
            self.receiver.operators.put_subject(RECEIVER, SubjectRule(ORDER, Treatment.MAILBOX, ORDERS))
            self.receiver.operators.put_domain(Domain(RECEIVER, signs=True))
            owner = PrivateKey.from_pem(self.key_file(RECEIVER).read_bytes())
            self.receiver.mailboxes.set_keys(RECEIVER, [b64encode(owner.public.spki()).decode()])
        self.receiver.deployment.serve_host(DM3_HOST)
        self.names = Names(self.receiver, DM3_HOST, keys, pinned=(BOB, MALLORY))
        self.ethereum = LocalEthereum(time.time, stack.state_dir)
        self.ethereum.serve(stack.edge)
        stack.tree.put(ZONE, ZONE_TEXT)
        stack.tree.put(PROFILE_HOST, f"@ IN A {HOST}\n")
        self.chain_names = ChainNames(self.ethereum, self.names, stack.edge)
        self._use_chain()
        stack.tree.put(DAN, text_record(DAN, PROFILE_KEY, profile_text(self.names.keys_of(DAN))))
        if BUFFER not in self.buffer.operators.domains():
            self.buffer.operators.put_domain(Domain(SENDER, inbox=False, buffer=True, feedback=BUFFER))
            self.buffer.operators.put_domain(Domain(BUFFER, signs=True))
        self._start_function_of(NLWEB.host(SENDER))

    def _use_chain(self) -> None:
        """Store the endpoints of the chain, unless the operator of a kept stack has stored others."""
        endpoints = self.receiver.storage.chain_endpoints
        if {urlsplit(url).hostname for url in endpoints.get()} <= set(RPC_HOSTS):
            endpoints.put(chain_endpoints(self.stack.edge.port))

    def _start_function_of(self, host: str) -> None:
        """Start the function that answers at a host, by asking it for the manifest.

        On a busy machine its start takes longer than a manifest may take, and a domain whose manifest could not be
        fetched is left alone for minutes.
        """
        context = self.stack.authority.client_context()
        with closing(HTTPSConnection(HOST, self.stack.edge.port, context=context)) as connection:
            connection.request("GET", "/manifest", headers={"Host": host})
            connection.getresponse().read()

    def publish(self, who: Correspondent, mode: Mode = Mode.SIGNED) -> None:
        """Publish (or replace) the zone of a domain: its hosts and its key record."""
        name = who.dialect.key_name(who.domain, who.selector)
        record = zone_line(name, record_text(who.key.public))
        hosts = _HOSTS if who.domain in _SERVED else ""
        self.stack.tree.put(who.domain, f"{hosts}{record}\n", mode)

    def key_file(self, domain: str) -> Path:
        """The file with the private key of a domain."""
        return self._keys / f"{domain}.pem"

    def _settle(
        self,
        domain: str,
        algorithm: Algorithm,
        *,
        mode: Mode = Mode.SIGNED,
        dialect: Dialect = NLWEB,
        selector: str = "pk1",
    ) -> Correspondent:
        path = self.key_file(domain)
        if path.exists():
            key = PrivateKey.from_pem(path.read_bytes())
        else:
            key = PrivateKey.generate(algorithm)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch(mode=0o600)
            path.write_bytes(key.to_pem())
        who = Correspondent(domain, selector, key, dialect)
        self.publish(who, mode)
        return who

    def _open(self, served: DemoDeployment, domain: str) -> None:
        for dialect in (NLWEB, POLLYWEB):
            served.deployment.serve_host(dialect.host(domain))
