"""The options for look-ups of dm3 names, and what looks names up as they say: the pinned document, DNS and ENS."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, NoReturn

import typer

from postroom.cli.deployment import DeploymentName
from postroom.cli.dm3.inputs import REGISTRY_OBJECT, find_registry, profiles_of, read_registry
from postroom.cli.exits import UsageFault
from postroom.cli.network import (
    ConnectionOptions,
    IpfsGatewayOption,
    LookupOptions,
    Network,
    anchors_of,
    build_https,
    choose_ipfs_gateways,
    choose_network,
    open_resolvers,
)
from postroom.cli.open_deployment import open_deployment
from postroom.cli.options import OptionGroup, repeatable
from postroom.core.errors import NotNowError, SettingsError
from postroom.core.settings import MAX_ENS_QUORUM, DeploymentSettings

if TYPE_CHECKING:
    from postroom.names.dns import Resolvers
    from postroom.names.dns_registry import DnsRegistry
    from postroom.names.ens.endpoints import ChainEndpoints
    from postroom.names.ens.ens import Ens
    from postroom.names.ipfs.gateways import IpfsGateways
    from postroom.names.profile_documents import ProfileDocuments
    from postroom.names.profiles import Profiles
    from postroom.names.registry import Registry
    from postroom.net.https import HttpsClient

LOOK_UP_SECONDS: Final = 20.0
"""For a name in ENS: at a terminal, a late answer is better than none."""


@dataclass(frozen=True, kw_only=True)
class EnsOptions(OptionGroup):
    """How names are looked up in ENS."""

    endpoint: Annotated[
        list[str] | None,
        repeatable(
            "Endpoint of the chain of ENS (JSON-RPC): https://HOST/PATH",
            "--endpoint",
            metavar="URL",
            show_default="the local stack's",
        ),
    ] = None
    quorum: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="How many endpoints must say the same.",
            min=1,
            max=MAX_ENS_QUORUM,
            show_default=str(DeploymentSettings().ens_quorum),
        ),
    ] = None
    chain: Annotated[
        int | None,
        typer.Option(
            metavar="ID",
            help="The id of the chain of ENS, on which its contracts have their usual addresses.",
            min=1,
            show_default=str(DeploymentSettings().ens_chain_id),
        ),
    ] = None
    lookups: LookupOptions

    @property
    def stack(self) -> Path | None:
        """The local stack, if names are looked up there. Raises UsageFault."""
        return self.lookups.local.stack(elsewhere=bool(self.lookups.resolver or self.endpoint))

    def network(self, ca_file: Path | None = None) -> Network:
        """The settings of look-ups and of connections for them. Raises UsageFault."""
        return choose_network(
            self.stack, resolvers=self.lookups.resolver, trust_anchor=self.lookups.trust_anchor, ca_file=ca_file
        )

    @property
    def needed_alike(self) -> int:
        """How many endpoints must say the same."""
        return self.quorum or DeploymentSettings().ens_quorum

    def endpoint_urls(self, network: Network) -> tuple[str, ...]:
        """The endpoints of the chain. Raises UsageFault, which quotes none: their URLs may hold keys."""
        from postroom.storage.secrets.chain_endpoints import read_chain_endpoints

        try:
            urls = read_chain_endpoints({"endpoints": self.endpoint}) if self.endpoint else network.chain_endpoints
        except SettingsError as error:
            raise UsageFault(f"--endpoint: {error}") from None
        if 0 < len(urls) < self.needed_alike:
            raise UsageFault(
                f"{self.needed_alike} endpoints must say the same, and there {'is' if len(urls) == 1 else 'are'} "
                f"{len(urls)}: name more of them (--endpoint), or set --quorum {len(urls)}"
            )
        return urls


@dataclass(frozen=True, kw_only=True)
class NameOptions(EnsOptions):
    """How names are looked up, and where their profiles are fetched from."""

    pinned: Annotated[
        Path | None,
        typer.Option(
            "--pinned",
            metavar="FILE",
            help="Document of names, which are looked up nowhere else: YAML or JSON, {name: {network.dm3.profile: "
            "URI}}.",
            show_default="the local stack's",
        ),
    ] = None
    ipfs_gateway: IpfsGatewayOption = None
    deployment: DeploymentName = None

    def network_with(self, connections: ConnectionOptions) -> Network:
        """The settings of a command that also connects elsewhere. Raises UsageFault."""
        return connections.network(elsewhere=bool(self.endpoint), trust_anchor=self.lookups.trust_anchor)

    @contextmanager
    def profiles(self, network: Network) -> "Iterator[Profiles]":
        """The profiles of names, found over this network. Raises UsageFault."""
        with ExitStack() as undo:
            yield NameSources(self, network, undo).profiles()

    def gateway_urls(self, network: Network) -> tuple[str, ...]:
        """The gateways of IPFS. Raises UsageFault."""
        return choose_ipfs_gateways(self.ipfs_gateway, network)

    def pinned_texts(self) -> "Mapping[str, Mapping[str, str]] | None":
        """The texts of the pinned document: of a file, or of a local stack; None: there is none. Raises UsageFault."""
        if self.pinned is not None:
            return read_registry(self.pinned.read_bytes(), str(self.pinned))
        if self.stack is None:
            return None
        stored = find_registry(open_deployment(None, self.stack, self.deployment))
        return read_registry(stored, REGISTRY_OBJECT) if stored is not None else None


class EnsSource:
    """What looks names up in ENS. Each part is made when it is first needed.

    `undo`: closes the parts. Raises UsageFault.
    """

    def __init__(self, options: EnsOptions, network: Network, undo: ExitStack) -> None:
        self._network = network
        self._undo = undo
        self._quorum = options.needed_alike
        self._chain = options.chain or DeploymentSettings().ens_chain_id
        self._endpoint_urls = options.endpoint_urls(network)

    @cached_property
    def ens(self) -> "Ens":
        """What asks ENS. Raises NotNowError(PROFILE_LOOKUP_FAILED): there are no endpoints."""
        from postroom.cli.dm3.explained_ens import ExplainedEns
        from postroom.names.ens.lookup import Contracts

        if not self._endpoint_urls:
            _without_endpoints()
        contracts = Contracts(chain=self._chain)
        return ExplainedEns(self._endpoints(), self._https, contracts, time.time, LOOK_UP_SECONDS)

    def _endpoints(self) -> "ChainEndpoints":
        return open_endpoints(self._endpoint_urls, self._quorum, self._chain, self._network.ca_file, self._undo)

    @cached_property
    def _resolvers(self) -> "Resolvers":
        return self._undo.enter_context(open_resolvers(self._network))

    @cached_property
    def _https(self) -> "HttpsClient":
        return build_https(self._network, self._resolvers)


class NameSources(EnsSource):
    """What looks names up. `gateway_urls`: of IPFS; `has_document`: there is a pinned document."""

    def __init__(self, options: NameOptions, network: Network, undo: ExitStack) -> None:
        super().__init__(options, network, undo)
        self.gateway_urls = options.gateway_urls(network)
        texts = options.pinned_texts()
        self.has_document, self._texts = texts is not None, texts or {}
        # Whoever names a document and no endpoints does without ENS, as a deployment without endpoints does.
        self._uses_ens = bool(self._endpoint_urls) or not (options.pinned or options.stack)

    def profiles(self) -> "Profiles":
        """The profiles of names, by the registries in a deployment's order."""
        from postroom.names.registries import ENS, Registries, parse_order
        from postroom.names.uris import uri_reader

        order = parse_order(DeploymentSettings().dm3_registries)
        registries = Registries([partial(self.registry, kind) for kind in order if kind != ENS or self._uses_ens])
        return profiles_of(registries, uri_reader(lambda: self._documents))

    def registry(self, kind: str) -> "Registry":
        """The registry of a kind."""
        from postroom.names.registries import DNS, ENS, PINNED
        from postroom.names.registry import PINNED_SECONDS, MemoryRegistry

        makers: dict[str, Callable[[], Registry]] = {
            PINNED: lambda: MemoryRegistry(self._texts, PINNED_SECONDS),
            DNS: lambda: self.dns,
            ENS: self._ens_registry,
        }
        return makers[kind]()

    @cached_property
    def dns(self) -> "DnsRegistry":
        """The registry in DNS."""
        from postroom.names.dns_registry import DnsRegistry

        return DnsRegistry(self._resolvers.asking, anchors_of(self._network), time.time)

    def _ens_registry(self) -> "Registry":
        from postroom.names.ens_registry import EnsRegistry

        return EnsRegistry(lambda: self.ens, _Unlimited(), time.time)

    @cached_property
    def _documents(self) -> "ProfileDocuments":
        from postroom.names.profile_documents import ProfileDocuments

        return ProfileDocuments(self._https, self._gateways() if self.gateway_urls else None, time.time)

    def _gateways(self) -> "IpfsGateways":
        from postroom.names.ipfs.gateways import IpfsGateways

        return IpfsGateways(self.gateway_urls, self._https)


def open_endpoints(
    urls: Sequence[str], quorum: int, chain: int, ca_file: str | None, undo: ExitStack
) -> "ChainEndpoints":
    """Endpoints of a chain. `chain`: its id; `ca_file`: instead of the public authorities; `undo`: closes them."""
    from postroom.names.ens.endpoints import connect_endpoints

    endpoints = connect_endpoints(
        urls, quorum, chain, ca_file=ca_file, threads=lambda most: undo.enter_context(ThreadPoolExecutor(most))
    )
    # Before the pool waits for its threads: nobody at a terminal waits for an endpoint that is silent.
    undo.callback(endpoints.close)
    return endpoints


class _Unlimited:
    """No limit of look-ups: whoever runs the command causes them."""

    def take(self) -> bool:
        return True


def _without_endpoints() -> NoReturn:
    from postroom.protocols.dm3.reasons import PROFILE_LOOKUP_FAILED

    raise NotNowError(
        PROFILE_LOOKUP_FAILED,
        "no endpoint of the chain of ENS is named: use --endpoint URL, or --local PATH for those of a local stack",
    )
