"""The findings of `admin status`. Values only."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from postroom.core.ijson import JsonValue
from postroom.core.settings import DAY_SECONDS
from postroom.doctor.checks import CheckStatus, DoctorCheck
from postroom.storage.directory.domains import Domain


@dataclass(frozen=True, slots=True)
class NamedDeployment:
    """The deployment. `option`: how any command names it, such as `--stack-name postroom`."""

    name: str
    option: str
    is_local: bool

    @property
    def deploy(self) -> str:
        """The command that deploys it again."""
        if self.is_local:
            return "stop the local stack, and start it again: `postroom up`"
        return f"deploy this release to {self.name}: `sam build && sam deploy`, with the settings it was deployed with"

    def log(self, function: str, since: str) -> str:
        """The command that shows the log of a function of the template. `since`: such as `1 hour ago`."""
        if self.is_local:
            return f"`postroom logs --since 1d {self.option}`"
        return f"`sam logs --stack-name {self.name} --name {function} --start-time '{since}'`"


@dataclass(frozen=True, slots=True)
class Unseen:
    """Something that could not be read, and why. `is_gone`: because it does not exist any more."""

    why: str
    todo: str
    is_gone: bool = False

    def check(self, name: str) -> DoctorCheck:
        """The check without a result, or failed because the resource is gone."""
        status = CheckStatus.BAD if self.is_gone else CheckStatus.NOT_CHECKED
        return DoctorCheck(name, status, self.why, self.todo)


@dataclass(frozen=True, slots=True)
class Stack:
    """The stack of CloudFormation. Times are epoch seconds."""

    status: str
    created: float
    changed: float
    parameters: dict[str, str]


@dataclass(frozen=True, slots=True)
class Served:
    """A domain of the directory. `subjects`: the number of rules of its operator and its owner."""

    domain: Domain
    subjects: int


@dataclass(frozen=True, slots=True)
class Held:
    """A secret. `value`: the JSON object in it, which must never be shown; None: it has another content."""

    id: str
    value: dict[str, JsonValue] | None


@dataclass(frozen=True, slots=True)
class Function:
    """A function. `name`: in AWS. `reserved`: its reserved concurrency; None: it has none, and no limit.

    `environment`: its variables; None: AWS does not show them.
    """

    name: str
    state: str
    why: str
    update: str
    why_update: str
    reserved: int | None
    environment: Mapping[str, str] | None


@dataclass(frozen=True, slots=True)
class EventSource:
    """An event source mapping of Lambda, from a queue to a function."""

    id: str
    state: str


@dataclass(frozen=True, slots=True)
class QueueLoad:
    """The messages of a queue, by SQS's approximate count. `waiting`: those with a delay, too.

    `in_work`: received, or hidden for a time. `oldest_seconds`: None: unknown.
    """

    waiting: int
    in_work: int
    oldest_seconds: float | None


@dataclass(frozen=True, slots=True)
class RecentMail:
    """The mail of the last day. `last`: when the last message was judged, epoch seconds; None: there was none.

    `discarded`: how many, by reason.
    """

    last: float | None
    discarded: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Libraries:
    """What is published for the jobs. `is_ours`: the library of this release is the same as this checkout."""

    names: Sequence[str]
    is_ours: bool


@dataclass(frozen=True, slots=True)
class Subscription:
    """A subscription to alarms, confirmed or not."""

    whom: str
    is_confirmed: bool


@dataclass(frozen=True, slots=True)
class Alarm:
    """An alarm of the stack. `name`: the template's."""

    name: str
    is_on: bool
    meaning: str


def ago(seconds: float) -> str:
    """A duration such as `3 days ago`."""
    for size, unit in ((DAY_SECONDS, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"{seconds // size:.0f} {unit} ago"
    return "just now"
