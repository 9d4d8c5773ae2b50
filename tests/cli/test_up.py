"""`postroom up`: a post office on this machine; what it prints to try next works as printed."""

import contextlib
import fcntl
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.patience import PATIENCE

from postroom.cli.descriptor import Descriptor, read_descriptor
from postroom.cli.exits import UsageFault
from postroom.cli.up import alone_in
from postroom.local.ports import free_port

pytestmark = pytest.mark.xdist_group("cli-up")

POSTROOM = str(Path(sys.executable).parent / "postroom")
TRIES = 1200


class Running:
    """A stack started by a person in a folder."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.folder = folder
        self.environment = {
            "PATH": f"{Path(POSTROOM).parent}:{os.environ['PATH']}", "HOME": str(folder), "PYTHONUNBUFFERED": "1",
        }  # fmt: skip
        self.process = subprocess.Popen(
            [POSTROOM, "up", *options],
            cwd=folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self.said: list[str] = []
        assert self.process.stdout
        for line in self.process.stdout:
            self.said.append(line)
            if line.startswith("Ctrl-C"):
                break

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        assert self.process.stdout
        self.process.stdout.close()
        self.process.wait(PATIENCE)

    def shell(self, command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, shell=True, cwd=self.folder, env=self.environment, capture_output=True, text=True,
            timeout=PATIENCE,
            check=False,
        )  # fmt: skip

    @property
    def commands(self) -> list[str]:
        """What it prints to try, backslashed lines joined."""
        text = "".join(self.said).partition("try, in another terminal:\n")[2].partition("\nCtrl-C")[0]
        return [line.strip() for line in text.replace("\\\n", " ").splitlines() if line.strip()]

    def command(self, *words: str) -> str:
        [found] = [line for line in self.commands if all(word in line for word in words)]
        return found

    @property
    def descriptor(self) -> Descriptor:
        return read_descriptor(self.folder / ".postroom")


PORTS = ("--port", "--dns-port", "--aws-port")


@pytest.fixture(scope="module")
def ports() -> dict[str, int]:
    return {option: free_port() for option in PORTS}


@pytest.fixture(scope="module")
def running(ports: dict[str, int], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """With each port asked for."""
    options = [word for option, port in ports.items() for word in (option, str(port))]
    running = Running(tmp_path_factory.mktemp("up"), *options)
    yield running
    running.end()


def test_the_printed_commands_work(running: Running) -> None:
    assert running.process.poll() is None, running.said
    for command in (
        running.command("postroom sign"),
        running.command("postroom verify"),
        running.command("postroom send"),
        running.command("postroom dm3 lookup"),
        running.command("postroom dm3 send"),
    ):
        ended = running.shell(command)
        assert ended.returncode == 0, (command, ended.stdout, ended.stderr)
    listed = running.shell(running.command("postroom domain list"))
    assert "receiver.example" in listed.stdout
    for _ in range(TRIES):
        read = json.loads(running.shell(running.command("postroom read", "receiver.example") + " --json").stdout)
        if read["messages"]:
            break
        time.sleep(0.25)
    [message] = read["messages"]
    assert (message["from"], message["body"]) == ("sender.example", {"Say": "hello"})
    assert message["envelope"] == (running.folder / "hello.json").read_text()
    for _ in range(TRIES):
        read = json.loads(running.shell(running.command("postroom read", "bob.eth") + " --json").stdout)
        if read["messages"]:
            break
        time.sleep(0.25)
    [message] = read["messages"]
    assert (message["from"], message["receipt"]["unverified"]) == ("alice.eth", None)


@pytest.mark.parametrize(("key", "status"), [("receiver.example", "good"), ("sender.example", "bad")])
def test_the_doctor_posts_a_message_from_a_domain_to_itself(running: Running, key: str, status: str) -> None:
    ended = running.shell(
        f"postroom doctor receiver.example --selector pk1 --sign-with .postroom/keys/{key}.pem --local .postroom --json"
    )
    checks = {check["name"]: (check["status"], check["found"]) for check in json.loads(ended.stdout)["checks"]}
    trip, found = checks.pop("round trip")
    assert (ended.returncode, trip) == (1 if status == "bad" else 0, status), found
    # Nobody is notified of discarded messages in that stack.
    assert checks.pop("manifest")[0] == "warning"
    assert {other for other, _ in checks.values()} == {"good"}


@pytest.mark.tools
@pytest.mark.skipif(shutil.which("curl") is None and not os.environ.get("CI"), reason="curl is not installed")
def test_curl_can_reach_the_stack(running: Running) -> None:
    assert "receiver.example" in running.shell(f"{running.command('curl', '/manifest')} -s").stdout


def test_an_added_domain_gets_its_host_at_the_edge(running: Running) -> None:
    assert running.shell("postroom domain add new.example").returncode == 0
    script = (
        "import http.client, ssl, sys; host, port, ca = sys.argv[1:]\n"
        "c = http.client.HTTPSConnection('127.0.0.1', int(port), context=ssl.create_default_context(cafile=ca))\n"
        "c.request('GET', '/manifest', headers={'Host': host}); print(c.getresponse().read().decode())"
    )
    for _ in range(TRIES):
        answer = subprocess.run(
            [sys.executable, "-c", script, "pw.new.example", str(running.descriptor.port), running.descriptor.ca_file],
            capture_output=True, text=True, timeout=PATIENCE, check=True,
        ).stdout  # fmt: skip
        if "new.example" in answer:
            break
        time.sleep(0.25)
    assert "Name: new.example" in answer


def test_one_folder_has_one_stack(running: Running) -> None:
    second = running.shell("postroom up")
    assert second.returncode == 2
    assert second.stderr == (
        "postroom: a local stack is already running in .postroom; --state DIR starts another one\n"
    )


@dataclass(frozen=True)
class Two:
    """Two that were started in one folder: the one that came up, and the other."""

    folder: Path
    up: subprocess.Popen[str]
    other: subprocess.Popen[str]
    complaint: str


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Two]:
    folder = tmp_path_factory.mktemp("two")
    with contextlib.ExitStack() as undo:
        both = {last_line_of(process): process for process in [started(undo, folder) for _ in range(2)]}
        up = both.pop("Ctrl-C ends it.\n")
        [(complaint, other)] = both.items()
        yield Two(folder, up, other, complaint)


def test_of_two_concurrent_starts_in_one_folder_one_succeeds(two: Two) -> None:
    assert two.complaint.startswith("postroom: a local stack is already running in .postroom")
    assert two.other.wait(PATIENCE) == 2


def test_a_closed_terminal_leaves_no_process(two: Two) -> None:
    two.up.send_signal(signal.SIGHUP)
    two.up.communicate(timeout=PATIENCE)
    assert two.up.returncode == 128 + signal.SIGHUP
    assert not list(two.folder.iterdir())


def started(undo: contextlib.ExitStack, folder: Path) -> subprocess.Popen[str]:
    process = undo.enter_context(
        subprocess.Popen(
            [POSTROOM, "up"], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            # As a terminal starts it, whatever started these tests: under nohup nobody hears of a closed terminal.
            preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),
        )
    )  # fmt: skip
    undo.callback(process.kill)
    # Should it neither come up nor end, it is not waited for without end.
    too_long = threading.Timer(PATIENCE, process.kill)
    too_long.start()
    undo.callback(too_long.cancel)
    return process


def last_line_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout
    line = ""
    for line in process.stdout:
        if line.startswith(("Ctrl-C", "postroom:")):
            break
    return line


def test_a_state_folder_removed_by_the_previous_stack_is_created_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, lock = tmp_path / ".postroom", fcntl.flock
    removals = [folder.rmdir]

    def flock(held: int, how: int) -> None:
        lock(held, how)
        if removals:
            removals.pop()()

    monkeypatch.setattr("fcntl.flock", flock)
    with alone_in(folder, keeps_keys=False):
        with pytest.raises(UsageFault), alone_in(folder, keeps_keys=False):
            pass
        assert folder.exists()
    assert not folder.exists()


def test_every_port_can_be_chosen(running: Running, ports: dict[str, int]) -> None:
    found = running.descriptor
    assert found.port == ports["--port"]
    assert found.resolvers == f"127.0.0.1:{ports['--dns-port']}"
    assert found.endpoint == f"http://127.0.0.1:{ports['--aws-port']}"


@pytest.mark.stack
@pytest.mark.parametrize(
    ("option", "who"), [("--port", "the post offices"), ("--dns-port", "DNS"), ("--aws-port", "the embedded AWS")]
)
def test_a_port_in_use_is_reported(tmp_path: Path, option: str, who: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ended = subprocess.run(
            [POSTROOM, "up", option, str(port)],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
    assert ended.returncode == 3
    assert ended.stderr.startswith(f"postroom: port {port} for {who} cannot be used: ")
    assert not list(tmp_path.iterdir())


@pytest.mark.stack
@pytest.mark.parametrize("state", ["file", "file/below"])
def test_an_unusable_state_folder_is_reported_before_the_start(tmp_path: Path, state: str) -> None:
    (tmp_path / "file").write_text("mine")
    ended = subprocess.run(
        [POSTROOM, "up", "--state", state], cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == f"postroom: --state (STATE of make) is {state}; it must be a folder, and file is not\n"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_ctrl_c_stops_everything(running: Running) -> None:
    descriptor = running.descriptor
    running.process.send_signal(signal.SIGINT)
    assert running.process.wait(PATIENCE) == 0
    assert not descriptor.is_running()
    assert not (running.folder / ".postroom").exists()
