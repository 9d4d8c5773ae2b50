"""Look-ups in ENS for commands: their errors say which endpoints and gateways failed, and how."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from postroom.cli.dm3.gateway_answers import GatewayAnswer, NotedRequests, read_ccip
from postroom.core.errors import NotNowError, TooSlowError
from postroom.names.ens.endpoints import DisagreementError
from postroom.names.ens.ens import Ens, EnsAnswer


@dataclass(frozen=True, slots=True, eq=False)
class ExplainedEns(Ens):
    """Looks names up. Whoever runs a command may see the hosts of endpoints, strangers may not."""

    def text(self, name: str, key: str) -> EnsAnswer:
        """As of Ens; the detail of an error names the hosts that failed."""
        answers: list[GatewayAnswer] = []
        noted = replace(self, gateways=NotedRequests(self.gateways, read_ccip, answers.append))
        try:
            return Ens.text(noted, name, key)
        except NotNowError as error:
            kind = TooSlowError if isinstance(error, TooSlowError) else NotNowError
            raise kind(error.reason, "; ".join((error.detail, *_faults(error, answers)))) from None


def with_host(host: str, fault: str) -> str:
    """A fault of a host, which is named once."""
    return fault if host in fault else f"{host}: {fault}"


def _faults(error: NotNowError, answers: Sequence[GatewayAnswer]) -> Iterator[str]:
    yield from (f"a gateway failed: {with_host(answer.host, answer.fault)}" for answer in answers if answer.fault)
    # Of a look-up that took too long, the endpoints' error is the cause.
    cause = error if isinstance(error, DisagreementError) else error.__cause__
    if isinstance(cause, DisagreementError):
        yield from (with_host(verdict.host, verdict.why) for verdict in cause.verdicts if verdict.block is None)
