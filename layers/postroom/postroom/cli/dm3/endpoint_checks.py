"""The checks of a chain's endpoints, each used alone, and of whether they agree on a name."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from postroom.crypto.encodings import write_hex
from postroom.doctor.checks import DoctorCheck, bad, good, warning
from postroom.names.ens.calls import CodeOf, Outcome, Returned, text_call
from postroom.names.ens.endpoints import ChainEndpoints, DisagreementError
from postroom.names.ens.rpc import Block
from postroom.names.registry import PROFILE_KEY


@dataclass(frozen=True, slots=True)
class EndpointFinding:
    """What one endpoint said. `host`: of its URL, with its place if others have the same; `fault`: why nothing of it
    counts; "": none.

    `age`: of its newest block, seconds; `has_resolver`: the universal resolver is there; `said`: about the name.
    """

    host: str
    fault: str = ""
    block: Block | None = None
    age: float = 0
    has_resolver: bool = False
    said: Outcome | None = None


def examine(
    endpoints: ChainEndpoints, resolver: bytes, name: str, *, seconds: float, clock: Callable[[], float]
) -> Iterator[EndpointFinding]:
    """What each endpoint says of a name.

    `resolver`: the address of the universal one; `seconds`: for each; `clock`: seconds since the epoch.
    """
    questions = (CodeOf(resolver), text_call(resolver, name, PROFILE_KEY))
    hosts = Counter(endpoint.host for endpoint in endpoints.endpoints)
    for place, endpoint in enumerate(endpoints.endpoints, start=1):
        host = endpoint.host if hosts[endpoint.host] == 1 else f"{endpoint.host} (endpoint {place})"
        alone = replace(endpoints, endpoints=(endpoint,), quorum=1)
        try:
            agreed = alone.agree(questions, lambda outcomes: outcomes, seconds=seconds, now=clock())
        except DisagreementError as error:
            [verdict] = error.verdicts
            yield EndpointFinding(host, verdict.why)
            continue
        code, said = agreed.said
        has_resolver = isinstance(code, Returned) and bool(code.data)
        yield EndpointFinding(host, "", agreed.block, max(0.0, clock() - agreed.block.time), has_resolver, said)


def judge_endpoint(finding: EndpointFinding, chain: int, resolver: bytes, deployment: str) -> DoctorCheck:
    """The check of one endpoint. `chain`: the id that it must have; `deployment`: how any command names it."""
    others = _others(deployment)
    if finding.fault or finding.block is None:
        return bad(finding.host, None, finding.fault, others)
    head = f"chain {chain}, block {finding.block.number}, {finding.age:.0f} s old; it takes batches"
    if not finding.has_resolver:
        missing = f"there is no universal resolver at {write_hex(resolver)}"
        return bad(finding.host, None, f"{head}; {missing}", f"{others}, or EnsUniversalResolver is wrong")
    return good(finding.host, f"{head}; the universal resolver is there")


def judge_agreement(findings: Sequence[EndpointFinding], name: str, quorum: int, deployment: str) -> DoctorCheck:
    """The check of what they say of a name. `quorum`: how many must say the same; `deployment`: as above."""
    check = f"agreement on {name}"
    said = Counter(finding.said for finding in findings if finding.said is not None)
    usual, alike = said.most_common(1)[0] if said else (None, 0)
    others = ", ".join(finding.host for finding in findings if finding.said not in (None, usual))
    found = f"{alike} of {len(findings)} say the same; {quorum} must (EnsQuorum)"
    if alike < quorum:
        return bad(
            check, None, f"{found}, so nothing is found out in ENS", f"{_others(deployment)}, of different providers"
        )
    if others:
        return warning(check, f"{found}; something else is said by {others}", f"try again; {_others(deployment)}")
    return good(check, found)


def _others(deployment: str) -> str:
    return f"`postroom dm3 chain put FILE {deployment}` stores others"
