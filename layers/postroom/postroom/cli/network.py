"""The network settings of commands: resolvers, trust anchors and certificate authorities."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from postroom.cli.descriptor import read_descriptor
from postroom.cli.exits import UsageFault
from postroom.cli.local_stack import LocalOptions
from postroom.cli.options import OptionGroup, repeatable
from postroom.core.errors import SettingsError
from postroom.core.settings import DeploymentSettings
from postroom.local.patience import PATIENCE_SECONDS

if TYPE_CHECKING:
    from postroom.crypto.rsa_ed25519 import PublicKey
    from postroom.names.dns import Resolvers
    from postroom.names.dnssec import TrustAnchors
    from postroom.names.keys import KeyDirectory
    from postroom.net.https import HttpsClient

Resolver = Annotated[
    list[str] | None,
    repeatable("DNS resolver: HOST[:PORT], udp://…, tcp://… or https://…", "--resolver", metavar="HOST:PORT"),
]
IpfsGatewayOption = Annotated[
    list[str] | None,
    repeatable(
        "Gateway of IPFS, for profiles under ipfs: https://HOST",
        "--ipfs-gateway",
        metavar="URL",
        show_default="the local stack's",
    ),
]
CaFile = Annotated[
    Path | None,
    typer.Option("--ca-file", metavar="FILE", help="Certificates (PEM) to trust instead of the public ones."),
]


@dataclass(frozen=True, slots=True)
class Network:
    """The settings of a command's look-ups and connections.

    `chain_endpoints`, `ipfs_gateways`: of the local stack. `is_local`: it is that of the local stack, whose machine may
    be busy.
    """

    resolvers: str
    trust_anchors: str
    ca_file: str | None
    port: int
    allow_private: bool
    chain_endpoints: tuple[str, ...] = ()
    ipfs_gateways: tuple[str, ...] = ()
    is_local: bool = False


def choose_network(
    local: Path | None,
    *,
    resolvers: list[str] | None = None,
    trust_anchor: Path | None = None,
    ca_file: Path | None = None,
    port: int | None = None,
    allow_private: bool = False,
) -> Network:
    """The local stack's network if one is named, otherwise the Internet's; an option replaces one setting."""
    there = read_descriptor(local) if local else None
    defaults = DeploymentSettings()
    return Network(
        resolvers=",".join(resolvers or ()) or (there.resolvers if there else defaults.resolvers),
        trust_anchors=_read_anchor(trust_anchor) if trust_anchor else there.trust_anchors if there else "",
        ca_file=str(ca_file) if ca_file else there.ca_file if there else None,
        port=port or (there.port if there else defaults.outbound_port),
        allow_private=allow_private or there is not None,
        chain_endpoints=there.chain_endpoints if there else (),
        ipfs_gateways=there.ipfs_gateways if there else (),
        is_local=there is not None,
    )


@dataclass(frozen=True, kw_only=True)
class LookupOptions(OptionGroup):
    """How names are looked up in DNS."""

    resolver: Resolver = None
    trust_anchor: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="DS or DNSKEY records to trust.", show_default="the root's, by IANA"),
    ] = None
    local: LocalOptions

    @property
    def stack(self) -> Path | None:
        """The local stack, if names are looked up there."""
        return self.local.stack(elsewhere=bool(self.resolver))

    def network(self) -> Network:
        """The settings of look-ups. Raises UsageFault."""
        return choose_network(self.stack, resolvers=self.resolver, trust_anchor=self.trust_anchor)


@dataclass(frozen=True, kw_only=True)
class ConnectionOptions(OptionGroup):
    """How a post office is found and reached."""

    resolver: Resolver = None
    ca_file: CaFile = None
    port: Annotated[int | None, typer.Option(help="The port to post to.", min=1, max=65535, show_default="443")] = None
    allow_private: Annotated[bool, typer.Option("--allow-private", help="Also connect to private addresses.")] = False
    local: LocalOptions

    def stack(self, *, elsewhere: bool = False) -> Path | None:
        """The local stack, if connections are made there. `elsewhere`: whether another option leads elsewhere."""
        return self.local.stack(elsewhere=elsewhere or bool(self.resolver))

    def network(self, *, elsewhere: bool = False, port: int | None = None, trust_anchor: Path | None = None) -> Network:
        """The settings of connections. `port`: unless an option sets it. Raises UsageFault."""
        return choose_network(
            self.stack(elsewhere=elsewhere),
            resolvers=self.resolver,
            trust_anchor=trust_anchor,
            ca_file=self.ca_file,
            port=self.port or port,
            allow_private=self.allow_private,
        )


def open_resolvers(network: Network) -> "Resolvers":
    """The resolvers; to be closed. Raises SettingsError."""
    from postroom.names.dns import Resolvers

    defaults = DeploymentSettings()
    return Resolvers(
        network.resolvers,
        try_seconds=PATIENCE_SECONDS if network.is_local else defaults.dns_try_seconds,
        budget_seconds=PATIENCE_SECONDS if network.is_local else defaults.dns_budget_seconds,
        named=True,
    )


def build_key_directory(network: Network, resolvers: "Resolvers") -> "KeyDirectory[PublicKey]":
    """Senders' keys by DNS, proven from the trust anchor. Raises SettingsError."""
    from postroom.names.keys import KeyDirectory
    from postroom.protocols.nlweb.key_record import parse_key_record

    return KeyDirectory(resolvers.asking, anchors_of(network), parse_key_record, clock=time.time)


def anchors_of(network: Network, negative: list[str] | None = None) -> "TrustAnchors":
    """The trust anchors, and the names that count as not signed. Raises SettingsError."""
    from postroom.names.dnssec import IANA_ROOT, TrustAnchors

    return TrustAnchors.parse(network.trust_anchors or IANA_ROOT, " ".join(negative or ()))


def build_https(network: Network, resolvers: "Resolvers") -> "HttpsClient":
    """Outbound HTTPS, with hosts looked up at these resolvers."""
    from postroom.names.host_addresses import addresses
    from postroom.net.https import HttpsClient

    client: Callable[..., HttpsClient] = HttpsClient
    if network.is_local:
        client = partial(HttpsClient, connect_timeout=PATIENCE_SECONDS, total_timeout=PATIENCE_SECONDS)
    try:
        return client(
            lambda host: addresses(host, resolvers.asking()),
            port=network.port,
            allow_private=network.allow_private,
            ca_file=network.ca_file,
        )
    except OSError as error:
        raise UsageFault(f"--ca-file {network.ca_file} has no certificates (PEM): {error.strerror}") from None


def choose_ipfs_gateways(named: list[str] | None, network: Network) -> tuple[str, ...]:
    """The gateways of IPFS that an option names, or else those of the local stack. Raises UsageFault."""
    from postroom.names.uris import read_gateways

    if named and not all(url.strip() for url in named):
        raise UsageFault("--ipfs-gateway is empty: name a gateway, or leave the option out")
    try:
        return read_gateways(",".join(named or ())) or network.ipfs_gateways
    except SettingsError as error:
        raise UsageFault(f"--ipfs-gateway: {error}") from None


def _read_anchor(path: Path) -> str:
    text = path.read_text(encoding="utf-8", errors="replace")
    if not text.strip():
        raise UsageFault(f"--trust-anchor {path} is empty; expected lines of DS or DNSKEY records")
    return text
