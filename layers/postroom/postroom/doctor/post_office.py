"""The way to a post office, as senders take it: its host, and its answers."""

from collections.abc import Callable, Generator, Sequence

from postroom.core.errors import NotNowError
from postroom.doctor.answers import judge_guardian, judge_inbox, judge_manifest
from postroom.doctor.checks import DoctorCheck, not_found_out, skipped
from postroom.doctor.host import judge_addresses, judge_certificate, judge_host
from postroom.doctor.network import ExaminerNetwork
from postroom.names.manifest import read_manifest
from postroom.net.https import HttpsResponse

Step = Callable[[], DoctorCheck]


def attempt(name: str, step: Step) -> DoctorCheck:
    """The result of one check, or why it could not be made now."""
    try:
        return step()
    except NotNowError as error:
        return not_found_out(name, error)


class PostOffice:
    """The post office at `host`."""

    def __init__(self, host: str, outside: ExaminerNetwork) -> None:
        self._host = host
        self._outside = outside
        self._addresses: Sequence[str] = ()
        self.answered = 0
        """The last HTTP status of the inbox; 0: none yet."""
        self.buffer: str | None = None
        """The domain that its manifest names, once that was read."""

    def reach(self) -> Generator[DoctorCheck, None, bool]:
        """The checks on the way to it, in order; returns whether senders can reach it."""
        steps = {"host": self._find, "addresses": self._choose, "certificate": self._knock}
        gets_through = True
        for name, step in steps.items():
            check = attempt(name, step) if gets_through else self.unreached(name)
            yield check
            gets_through = check.is_good
        return gets_through

    def unreached(self, name: str) -> DoctorCheck:
        """A check that cannot be made because senders cannot reach the post office."""
        return skipped(name, f"senders cannot reach {self._host}")

    def inbox(self) -> DoctorCheck:
        """The check `inbox`."""
        return attempt("inbox", self._ask)

    def manifest(self) -> DoctorCheck:
        """The check `manifest`."""
        return attempt("manifest", self._read)

    def guardian(self) -> DoctorCheck:
        """The check `DCP`."""
        return attempt("DCP", lambda: judge_guardian(self._host, self._get("/dcp", "application/json")))

    def _find(self) -> DoctorCheck:
        self._addresses = self._outside.addresses(self._host)
        return judge_host(self._host, self._addresses)

    def _choose(self) -> DoctorCheck:
        check, self._addresses = judge_addresses(self._addresses, allow_private=self._outside.allow_private)
        return check

    def _knock(self) -> DoctorCheck:
        found = self._outside.certificate(self._host, self._addresses)
        return judge_certificate(self._host, found, self._outside.clock())

    def _ask(self) -> DoctorCheck:
        answer = self._get("/inbox", "*/*")
        self.answered = answer.status
        return judge_inbox(self._host, answer)

    def _read(self) -> DoctorCheck:
        feedback = read_manifest(self._get("/manifest", "application/yaml, */*"), self._host)
        self.buffer = feedback.domain
        return judge_manifest(feedback)

    def _get(self, path: str, accept: str) -> HttpsResponse:
        return self._outside.https.get(f"https://{self._host}{path}", accept)
