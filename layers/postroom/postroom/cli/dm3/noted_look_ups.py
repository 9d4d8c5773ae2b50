"""What looks names up, and notes what each registry, endpoint and gateway said."""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeAlias

from postroom.cli.dm3.explained_ens import ExplainedEns
from postroom.cli.dm3.gateway_answers import GatewayAnswer, NotedRequests, read_ccip, read_ipfs
from postroom.cli.dm3.names import NameOptions, NameSources
from postroom.cli.network import Network
from postroom.core.errors import NotNowError, TheirError
from postroom.names.dnssec import Evidence
from postroom.names.ens.endpoints import EndpointVerdict
from postroom.names.ens.ens import Ens, EnsAnswer
from postroom.names.ens.lookup import Found
from postroom.names.ens.rpc import Block
from postroom.names.ipfs.gateways import IpfsGateways
from postroom.names.registries import DNS, PINNED
from postroom.names.registry import Registry, RegistryText


@dataclass(frozen=True, slots=True)
class EndpointsAnswer:
    """What endpoints said to one question."""

    verdicts: tuple[EndpointVerdict, ...]

    @property
    def block(self) -> Block | None:
        """The newest block of those that agreed; None: too few did."""
        blocks = [verdict.block for verdict in self.verdicts if verdict.block and not verdict.why]
        return max(blocks, key=lambda block: block.number, default=None)


EnsStep: TypeAlias = EndpointsAnswer | GatewayAnswer


@dataclass(slots=True)
class RegistryAnswer:
    """What a registry said of a name. `text` None: it raised `error`.

    `is_there`: False of the pinned document, if none is named; `proof`: in DNS; `steps`, `found`: in ENS.
    """

    kind: str
    is_there: bool = True
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
            NotedRequests(made.gateways, read_ccip, self._note),
            made.contracts,
            made.clock,
            made.seconds,
            self._note_found,
        )

    def _gateways(self) -> IpfsGateways:
        return IpfsGateways(self.gateway_urls, NotedRequests(self._https, read_ipfs, self.files.append))

    def _note(self, step: EnsStep) -> None:
        self.registries[-1].steps.append(step)

    def _note_found(self, found: Found) -> None:
        self.registries[-1].found = found


class _NotedRegistry:
    def __init__(self, kind: str, registry: Registry, sources: NotedSources) -> None:
        self._kind, self._registry, self._sources = kind, registry, sources

    def text(self, name: str, key: str, *, fresh: bool = False) -> RegistryText:
        answer = RegistryAnswer(self._kind, self._kind != PINNED or self._sources.has_document)
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
class _NotedEns(ExplainedEns):
    note: Callable[[Found], None]

    def text(self, name: str, key: str) -> EnsAnswer:
        answer = ExplainedEns.text(self, name, key)
        self.note(answer.found)
        return answer
