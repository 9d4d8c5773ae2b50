"""Faults of the deployment itself, in words for its operator.

They are found deep inside, where only a message has to wait, or a client has to try again. At the end of its run, a
function reports them: in its log, each sentence once, and in a metric with an alarm (docs/operate/own-faults.md).
"""

from dataclasses import dataclass
from enum import StrEnum
from threading import Lock
from typing import Final

DENIED: Final = frozenset(
    {"AccessDenied", "AccessDeniedException", "AuthorizationError", "NotAuthorizedException", "UnauthorizedOperation"}
)
MISSING: Final = frozenset(
    {
        "AWS.SimpleQueueService.NonExistentQueue", "NoSuchBucket", "NotFound", "NotFoundException", "QueueDoesNotExist",
        "ResourceNotFoundException",
    }
)  # fmt: skip
_EXHAUSTED: Final = frozenset(
    {
        "BandwidthLimitExceeded", "LimitExceededException", "OverLimit", "ProvisionedThroughputExceeded",
        "ProvisionedThroughputExceededException", "RequestLimitExceeded", "SlowDown", "TooManyRequestsException",
    }
)  # fmt: skip
"""Also every code that contains `Throttl`: these are all of AWS's codes for it."""

_NAMED_BY: Final = {
    "function": "HandlerFunctionArns", "event bus": "ForwardBusArns", "topic": "NotifyTopicArn",
    "queue": "ForwardQueueArns, if it is an operator's",
}  # fmt: skip
"""The parameter of the template that allows a role to use a resource outside the stack."""
_REMEDIES: Final = {
    "table": "restore it under this name from its backup, and enable again what a restore does not include: TTL, "
    "point-in-time recovery, deletion protection",
    "bucket": "create it again under this name, and restore its objects from a copy, if there is one",
    "queue": "create it again under this name, as in template.yaml; an operator's: as the Subject's rule names it",
    "secret": "restore it (aws secretsmanager restore-secret), or set its value again",
    "function": "create it again, or change the Subject's rule (postroom subject)",
    "event bus": "create it again, or change the Subject's rule (postroom subject)",
    "topic": "create it again; until then, its targets receive no notifications",
}


class FaultKind(StrEnum):
    """What kind of fault it is; its value is the name of its metric."""

    BROKEN = "OwnFault"
    """Something is missing, denied or malformed."""
    QUOTA = "QuotaExhausted"
    """AWS is throttling; nothing is broken."""
    ENDPOINT_FAILED = "EndpointFailed"
    """An endpoint of the chain that the operator has set did not answer as it should."""
    ENDPOINT_DISAGREED = "EndpointDisagreed"
    """Such an endpoint did not say what others said."""


@dataclass(frozen=True, slots=True)
class OwnFault:
    """`sentence`: what is wrong, where, and what to do; nothing about a message, a mailbox, or a secret."""

    sentence: str
    kind: FaultKind = FaultKind.BROKEN


class OwnFaults:
    """The faults found since the last `take`, each once. Safe to share among threads.

    A function has one, because it handles one event at a time. Everything that may find a fault has it, including AWS
    clients (`naming`).
    """

    def __init__(self) -> None:
        self._met: dict[OwnFault, None] = {}
        self._lock = Lock()

    def note(self, fault: OwnFault) -> None:
        """Record a fault; how often it occurs does not matter."""
        with self._lock:
            self._met[fault] = None

    def take(self) -> list[OwnFault]:
        """Return all faults in the order in which they were found, and forget them."""
        with self._lock:
            taken, self._met = list(self._met), {}
            return taken


def explain(code: str, action: str, kind: str, name: str) -> OwnFault | None:
    """The fault if AWS answers `code` to `action` on a resource; None: nothing that is known."""
    resource = f"{kind} {name}"
    if code in _EXHAUSTED or "Throttl" in code:
        return OwnFault(
            f"{resource}: AWS is throttling {action} ({code}). The request waits, or was refused for now; "
            "if this lasts, raise the limit of the resource or the account's quota (AWS Service Quotas)",
            FaultKind.QUOTA,
        )
    if code in DENIED:
        named_by = f" (parameter {_NAMED_BY[kind]})" if kind in _NAMED_BY else ""
        return OwnFault(
            f"{resource}: the function's role does not allow {action}. Deploy the stack again{named_by}; if that does "
            "not help, look for a policy that denies it: of the resource, its KMS key, or the organization"
        )
    if code in MISSING:
        return OwnFault(f"{resource}: it does not exist ({action}). {_capital(_REMEDIES.get(kind, 'create it again'))}")
    if kind == "secret" and code == "InvalidRequestException":
        return OwnFault(
            f"{resource}: it is marked for deletion. Restore it (aws secretsmanager restore-secret) before its "
            "recovery window ends"
        )
    if code.upper().startswith("KMS") or code == "DecryptionFailure":
        return OwnFault(f"{resource}: its KMS key cannot be used ({code}). Enable the key, and let the role use it")
    return None


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]
