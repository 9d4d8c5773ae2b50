"""What looks names up, and notes what each registry, endpoint and gateway said."""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeAlias
from urllib.parse import urlsplit

from postroom.cli.dm3.names import NameOptions, NameSources
from postroom.cli.network import Network
from postroom.core.errors import NotNowError, TheirError
from postroom.names.dnssec import Evidence
from postroom.names.ens.endpoints import EndpointVerdict
from postroom.names.ens.ens import Ens, EnsAnswer
from postroom.names.ens.lookup import Found
from postroom.names.ens.rpc import Block
from postroom.names.ipfs.car import read_blocks
from postroom.names.ipfs.errors import IpfsError
from postroom.names.ipfs.gateways import IpfsGateways
from postroom.names.registries import DNS
from postroom.names.registry import Registry, RegistryText
from postroom.net.https import HttpsRequests, HttpsResponse

_OK = 200
_NO_HOST = "(no host)"


@dataclass(frozen=True, slots=True)
class EndpointsAnswer:
    """What endpoints said to one question."""

    verdicts: tuple[EndpointVerdict, ...]

    @property
    def block(self) -> Block | None:
        """The newest block of those that agreed; None: too few did."""
        blocks = [verdict.block for verdict in self.verdicts if verdict.block and not verdict.why]
        return max(blocks, key=lambda block: block.number, default=None)


@dataclass(frozen=True, slots=True)
class GatewayAnswer:
    """What a gateway said. `fault`: a sentence; "": none; `blocks`: of IPFS, that it sent."""

    host: str
    fault: str = ""
    blocks: int = 0


EnsStep: TypeAlias = EndpointsAnswer | GatewayAnswer


@dataclass(slots=True)
class RegistryAnswer:
    """What a registry said of a name. `text` None: it raised `error`.

    `proof`: in DNS; `steps`, `found`: in ENS.
    """

    kind: str
    text: RegistryText | None = None
    error: TheirError | NotNowError | None = None
    proof: Evidence | None = None
    steps: list[EnsStep] = field(default_factory=list)
    found: Found | None = None


class NotedSources(NameSources):
    """What looks names up. `registries`: in the order in which they were used; `files`: fetched from IPFS."""

    def __init__(self, options: NameOptions, network: Network, undo: ExitStack) -> None:
        super().__init__(options, network, undo)
        # Without endpoints, a name that may be in ENS is not called absent.
        self._uses_ens = True
        self.registries: list[RegistryAnswer] = []
        self.files: list[GatewayAnswer] = []

    def registry(self, kind: str) -> Registry:
        """The registry of a kind."""
        return _NotedRegistry(kind, super().registry(kind), self)

    @cached_property
    def ens(self) -> Ens:
        """What asks ENS. Raises NotNowError(PROFILE_LOOKUP_FAILED)."""
        made = super().ens
        return _NotedEns(
            replace(made.endpoints, observe=lambda verdicts: self._note(EndpointsAnswer(verdicts))),
            _NotedRequests(made.gateways, _read_ccip, self._note),
            made.contracts,
            made.clock,
            made.seconds,
            self._note_found,
        )

    def _gateways(self) -> IpfsGateways:
        note = self.files.append
        https = _NotedRequests(self._https, _read_ipfs, note)
        return IpfsGateways(self.gateway_urls, https)

    def _note(self, step: EnsStep) -> None:
        self.registries[-1].steps.append(step)

    def _note_found(self, found: Found) -> None:
        self.registries[-1].found = found


class _NotedRegistry:
    def __init__(self, kind: str, registry: Registry, sources: NotedSources) -> None:
        self._kind, self._registry, self._sources = kind, registry, sources

    def text(self, name: str, key: str, *, fresh: bool = False) -> RegistryText:
        answer = RegistryAnswer(self._kind)
        self._sources.registries.append(answer)
        try:
            answer.text = self._registry.text(name, key, fresh=fresh)
        except (TheirError, NotNowError) as error:
            answer.error = error
            raise
        if self._kind == DNS:
            answer.proof = self._sources.dns.evidence(name)
        return answer.text


@dataclass(frozen=True, slots=True, eq=False)
class _NotedEns(Ens):
    note: Callable[[Found], None]

    def text(self, name: str, key: str) -> EnsAnswer:
        answer = Ens.text(self, name, key)
        self.note(answer.found)
        return answer


class _NotedRequests:
    """`read`: what the answer of a host is."""

    def __init__(
        self,
        https: HttpsRequests,
        read: Callable[[str, HttpsResponse], GatewayAnswer],
        note: Callable[[GatewayAnswer], None],
    ) -> None:
        self._https, self._read, self._note = https, read, note

    def get(self, url: str, accept: str, seconds: float) -> HttpsResponse:
        return self._noted(url, lambda: self._https.get(url, accept, seconds))

    def post(self, url: str, body: bytes, content_type: str, *, seconds: float) -> HttpsResponse:
        return self._noted(url, lambda: self._https.post(url, body, content_type, seconds=seconds))

    def _noted(self, url: str, request: Callable[[], HttpsResponse]) -> HttpsResponse:
        try:
            answer = request()
        except NotNowError as error:
            self._note(GatewayAnswer(_host(url), error.detail))
            raise
        self._note(self._read(_host(url), answer))
        return answer


def _host(url: str) -> str:
    """The host of a URL that a stranger may have written, or that it has none."""
    try:
        return urlsplit(url).hostname or _NO_HOST
    except ValueError:
        return _NO_HOST


def _read_ccip(host: str, answer: HttpsResponse) -> GatewayAnswer:
    return GatewayAnswer(host, "" if answer.status == _OK else f"it answered with status {answer.status}")


def _read_ipfs(host: str, answer: HttpsResponse) -> GatewayAnswer:
    if answer.status != _OK:
        return _read_ccip(host, answer)
    try:
        return GatewayAnswer(host, blocks=len(read_blocks(answer.body)))
    except IpfsError as error:
        return GatewayAnswer(host, str(error))
