"""The embedded AWS: MiniStack (as `ministack` limits it), a child process on its own loopback port.

It allows things that AWS would not, which matters to the code that runs in it (beside what `verify.KNOWN` and `gateway`
list):

| here | on AWS |
|---|---|
| functions run under this interpreter, whatever `Runtime` says | the runtime named in the template |
| every package of this environment can be imported | only the function's own, its layers', and boto3 |
| MemorySize is not enforced; /tmp is the host's; there is no /opt, no `_HANDLER` | enforced; own; there |
| the secret of the stack is that of the root of every account | each account has its own |
| a function has few processes (`Processes`); an invocation waits until one is free | there is always one more |
| 16 long polls (20 s each) use up a function | all run |
| a function may take 10 minutes, and a request to an API 15 | as long as its Timeout says; 30 s |
| a reserved concurrency, or a mapping's maximum, above that number has no effect | calls beyond it are throttled |
| a function that invokes itself and waits may time out | continues |
| read units are a constant 0.5 or 1.0; write units are right | both are right |
| SQS accepts characters that it must refuse (U+FFFE, control characters) | InvalidMessageContents |
| a message group on a standard queue is stored and passed on, and delays nobody | fair queues: busy groups wait |
| a function may send to a queue that invokes it for ever | stopped at the 16th time, without `RecursiveLoop: Allow` |
| SQS slows down with its backlog (10k messages: fine; 100k: 50 a second) | does not |
"""

import fcntl
import http.client
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, cast

from postroom.core.errors import OurError
from postroom.local import supervisor
from postroom.local.account import LocalAccount
from postroom.local.clients import REGION, Clients
from postroom.local.patience import PATIENCE_SECONDS
from postroom.local.ports import HOST, free_port, require_free

GRACE_SECONDS = 120.0
"""How long it may take to write its state to disk; without state it need not wait."""


def processors() -> int:
    """The number of processors that this process may use; a container may have fewer of them than its host."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@dataclass(frozen=True, slots=True)
class Processes:
    """How many processes a function may have at a time: one that a queue feeds, and any other."""

    queue: int = field(default_factory=lambda: 2 * processors())
    http: int = 16


class Emulator:
    """One MiniStack process; a context manager.

    `port`: a free one unless given. `state_dir`: where everything survives a stop, and what functions have answered
    survives a crash (`kept_state`). Without it nothing is kept. `log`: the file that it writes to. Raises OurError if
    it does not start.
    """

    def __init__(
        self,
        *,
        port: int | None = None,
        state_dir: Path | None = None,
        log: Path | None = None,
        processes: Processes | None = None,
    ) -> None:
        self._processes = processes or Processes()
        self.port = port or free_port()
        self.endpoint = f"http://{HOST}:{self.port}"
        self.secret = secrets.token_urlsafe(30)
        """The secret access key of the root of every account, whose access key id is the account's number."""
        self._state_dir = state_dir
        self.directory = Path(tempfile.mkdtemp(prefix="postroom-aws-"))
        """For temporary files: deleted when the emulator ends, even if this process is killed."""
        self.log = log or self.directory / "emulator.log"
        self._supervisor: subprocess.Popen[bytes] | None = None
        self._group = 0

    def __enter__(self) -> "Emulator":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def clients(self, account: str) -> Clients:
        """Return the clients of an account (12 digits). Accounts cannot see each other."""
        return Clients(LocalAccount(self.endpoint, account, self.secret))

    def start(self) -> None:
        """Start it and wait until it answers. If it fails, nothing of it is left."""
        try:
            self._start()
        except BaseException:
            self.stop()
            raise

    def _start(self) -> None:
        script = Path(supervisor.__file__)
        grace = GRACE_SECONDS if self._state_dir else 0
        # -P: neither the folder of the script nor the working directory may shadow a module.
        command = [sys.executable, "-P", str(script), str(grace), str(self.directory)]
        bounds = (str(self._processes.queue), str(self._processes.http))
        command += [sys.executable, "-P", str(script.with_name("ministack.py")), *bounds]
        with self.log.open("ab") as log, self._locked() as held:
            require_free(self.port, "the embedded AWS")
            self._supervisor = subprocess.Popen(  # noqa: S603 - our own interpreter and modules
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=self._environment(),
                cwd=self.directory,
                start_new_session=True,
                pass_fds=held,
            )
        self._group = int(_pipe(self._supervisor.stdout).readline())
        self._wait_until_healthy(self._supervisor)

    def stop(self) -> None:
        """Stop it and every process it started; when this returns, they have ended. May be called twice."""
        if self._supervisor is None:
            shutil.rmtree(self.directory, ignore_errors=True)
            return
        _pipe(self._supervisor.stdin).close()
        code = self._supervisor.wait()
        _pipe(self._supervisor.stdout).close()
        if code != 0 and self._group:
            # The supervisor itself was killed and could not stop the others.
            supervisor.kill_group(self._group)
            shutil.rmtree(self.directory, ignore_errors=True)
        self._supervisor = None

    @contextmanager
    def _locked(self) -> Iterator[tuple[int, ...]]:
        """Lock the state directory; the supervisor inherits the lock and holds it until the state is written.

        So a stack that starts right after another was killed waits until that one's state is written.
        """
        if self._state_dir is None:
            yield ()
            return
        self._state_dir.mkdir(parents=True, exist_ok=True)
        self._state_dir.chmod(0o700)  # it has secrets in clear
        with (self._state_dir / "lock").open("w") as lock:
            end = time.monotonic() + GRACE_SECONDS + 2
            while True:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() > end:
                        raise OurError(f"{self._state_dir} is in use by another stack") from None
                    time.sleep(0.05)
            yield (lock.fileno(),)

    def _environment(self) -> dict[str, str]:
        """Return the whole environment, built from nothing, because functions inherit it.

        An AWS_CA_BUNDLE, a proxy or a profile of the shell would reach the functions and break them.
        """
        environment = {
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), "/usr/bin", "/bin"]),
            "HOME": str(self.directory),
            "TMPDIR": str(self.directory),
            "LANG": "C.UTF-8",
            "TZ": "UTC",
            "PYTHONUNBUFFERED": "1",
            "AWS_SECRET_ACCESS_KEY": self.secret,
            "BIND_HOST": HOST,
            "GATEWAY_PORT": str(self.port),
            "MINISTACK_HOST": HOST,
            "MINISTACK_REGION": REGION,
            "AWS_EC2_METADATA_DISABLED": "true",
            # Functions may do what their roles allow, and no more. A request signed with an account number is its
            # root's.
            "AUTH": "true",
            # AWS's own default. MiniStack's default is what memory allows without a limit on processes.
            "LAMBDA_ACCOUNT_CONCURRENCY": "1000",
            # It would remove containers of other MiniStacks, and open listeners on fixed ports.
            "DOCKER_HOST": "unix:///nonexistent",
            "SFTP_ENABLED": "0",
            "IOT_MTLS_ENABLED": "0",
        }
        if self._state_dir:
            environment |= {
                "PERSIST_STATE": "1",
                "STATE_DIR": str(self._state_dir / "services"),
                "S3_PERSIST": "1",
                "S3_DATA_DIR": str(self._state_dir / "s3"),
            }
        return environment

    def _wait_until_healthy(self, process: "subprocess.Popen[bytes]") -> None:
        end = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < end:
            if process.poll() is not None:
                raise OurError(f"the embedded AWS ended at once: {self._log_tail()}")
            if self._is_healthy():
                return
            time.sleep(0.02)
        raise OurError(f"the embedded AWS did not answer within {PATIENCE_SECONDS} s: {self._log_tail()}")

    def _is_healthy(self) -> bool:
        connection = http.client.HTTPConnection(HOST, self.port, timeout=PATIENCE_SECONDS)
        try:
            connection.request("GET", "/")
            # It refuses what is unsigned, once its state is loaded.
            return connection.getresponse().status == http.client.FORBIDDEN
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def _log_tail(self) -> str:
        return self.log.read_text(errors="replace")[-2000:] if self.log.exists() else "(no log)"


def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
    return cast("IO[bytes]", stream)
