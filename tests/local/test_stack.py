"""Whatever ends the stack, nothing of it is left: no process, no port, no file."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import dns.message
import dns.query
import httpcore
import pytest
from tests.patience import PATIENCE

from postroom.core.errors import OurError
from postroom.local.ports import HOST, free_port
from postroom.local.stack import LocalStack

pytestmark = [pytest.mark.xdist_group("local"), pytest.mark.stack]

Start = Callable[..., tuple[subprocess.Popen, dict]]

# A stack in a process of its own. It says what there is of it once a function has run, so that there are workers.
CHILD = """
import json, sys, time
from pathlib import Path
from postroom.local.stack import LocalStack

template, state, then = sys.argv[1:4]
with LocalStack(Path(template), state_dir=Path(state) if state else None) as stack:
    deployment = stack.deploy("one")
    payload = json.dumps({"pathParameters": {"what": "where"}})
    deployment.client("lambda").invoke(FunctionName=deployment.outputs["Inbox"], Payload=payload)
    table, dynamodb = deployment.outputs["Items"], deployment.client("dynamodb")
    found = [item["pk"]["S"] for item in dynamodb.scan(TableName=table)["Items"]]
    dynamodb.put_item(TableName=table, Item={"pk": {"S": "kept"}})
    ports = [stack.emulator.port, stack.edge.port, stack.dns.port]
    said = {"ports": ports, "directory": str(stack.emulator.directory), "ca": stack.authority.pem.read_text()}
    print(json.dumps(said | {"anchor": stack.tree.anchor_text, "table": table, "found": found}), flush=True)
    if then == "raise":
        raise RuntimeError("as asked")
    if then == "busy":
        slow = json.dumps({"pathParameters": {"what": "slow"}})
        function = deployment.outputs["Inbox"]
        deployment.client("lambda").invoke(FunctionName=function, Payload=slow, InvocationType="Event")
    while then != "end":
        time.sleep(0.1)
"""


@pytest.fixture
def start(template: Path) -> Iterator[Start]:
    """Start a stack in a child process, and return it with what it says of itself."""
    children: list[subprocess.Popen] = []

    def start(*, state: Path | None = None, then: str = "wait") -> tuple[subprocess.Popen, dict]:
        command = [sys.executable, "-c", CHILD, str(template), str(state or ""), then]
        child = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            # As a terminal starts it, whatever started these tests: nohup ignores that it is closed.
            preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),
        )  # fmt: skip
        children.append(child)
        line = child.stdout.readline()
        assert line, f"the stack did not come up: {child.wait()}"
        return child, json.loads(line)

    yield start
    for child in children:
        child.kill()
        end(child)


def end(child: subprocess.Popen) -> int:
    child.stdout.close()
    return child.wait(PATIENCE)


def processes_with(directory: str) -> list[str]:
    """The command lines that mention the stack's own directory: supervisor and workers do."""
    listing = subprocess.run(["ps", "-A", "-ww", "-o", "pid=,args="], capture_output=True, text=True, check=True)
    return [line for line in listing.stdout.splitlines() if directory in line]


def is_open(port: int) -> bool:
    with contextlib.closing(socket.socket()) as probe:
        return probe.connect_ex((HOST, port)) == 0


def assert_nothing_is_left(said: dict) -> None:
    """What a killed process leaves is tidied up by its supervisor, a moment later."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        left = [port for port in said["ports"] if is_open(port)], processes_with(said["directory"])
        if not any(left) and not Path(said["directory"]).exists():
            return
        time.sleep(0.05)
    raise AssertionError(f"left over: {left}, directory there: {Path(said['directory']).exists()}")


@pytest.mark.parametrize(
    ("number", "code", "then"),
    [
        (signal.SIGINT, -signal.SIGINT, "wait"),
        (signal.SIGTERM, 128 + signal.SIGTERM, "busy"),
        (signal.SIGHUP, 128 + signal.SIGHUP, "wait"),
        (signal.SIGKILL, -signal.SIGKILL, "wait"),
        (signal.SIGKILL, -signal.SIGKILL, "busy"),
    ],
)
def test_a_signal_leaves_nothing(start: Start, number: signal.Signals, code: int, then: str) -> None:
    child, said = start(then=then)
    assert all(map(is_open, said["ports"]))
    assert len(processes_with(said["directory"])) >= 2
    os.kill(child.pid, number)
    assert end(child) == code
    assert_nothing_is_left(said)


@pytest.mark.parametrize(("then", "code"), [("end", 0), ("raise", 1)])
def test_the_end_of_the_block_leaves_nothing(start: Start, then: str, code: int) -> None:
    child, said = start(then=then)
    assert end(child) == code
    assert_nothing_is_left(said)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_state_survives_though_the_stack_was_ended_by_a_signal(start: Start, tmp_path: Path, number) -> None:
    """The next stack starts at once: it waits until the state of the one before is written."""
    child, before = start(state=tmp_path)
    os.kill(child.pid, number)
    end(child)
    child, after = start(state=tmp_path, then="end")
    assert end(child) == 0
    for what in ("ports", "ca", "anchor", "table"):
        assert after[what] == before[what]
    assert ("kept" in before["found"], "kept" in after["found"]) == (False, True)


def test_two_stacks_run_side_by_side_and_the_sigterm_handler_is_restored(stack, one, template: Path) -> None:
    before = signal.getsignal(signal.SIGTERM)
    with LocalStack(template) as other:
        ours = {stack.emulator.port, stack.edge.port, stack.dns.port}
        theirs = {other.emulator.port, other.edge.port, other.dns.port}
        assert not ours & theirs
        same_name = other.deploy("one")
        assert same_name.account == one.account
        same_name.client("dynamodb").put_item(TableName=same_name.outputs["Items"], Item={"pk": {"S": "theirs"}})
        items = one.client("dynamodb").scan(TableName=one.outputs["Items"])["Items"]
        assert "theirs" not in {item["pk"]["S"] for item in items}
    assert signal.getsignal(signal.SIGTERM) is before


def test_ports_can_be_given_and_zone_files_of_a_folder_are_served(template: Path, tmp_path: Path) -> None:
    edge, names = free_port(), free_port()
    (tmp_path / "mine.example.zone").write_text("@ 60 IN A 192.0.2.5\n")
    with LocalStack(template, zones_dir=tmp_path, edge_port=edge, dns_port=names) as stack:
        assert (stack.edge.port, stack.dns.port) == (edge, names)
        answer = dns.query.udp(dns.message.make_query("mine.example", "A"), HOST, port=names, timeout=PATIENCE)
    assert answer.answer[0][0].address == "192.0.2.5"


def test_a_port_that_is_taken_is_named_and_nothing_stays_up(template: Path) -> None:
    with contextlib.closing(socket.create_server((HOST, 0))) as other:
        port = other.getsockname()[1]
        stack = LocalStack(template, edge_port=port)
        with pytest.raises(OurError, match=f"port {port} for the post offices"):
            stack.__enter__()
        assert not is_open(stack.emulator.port)


def test_for_dns_a_port_must_be_free_for_udp_too(template: Path) -> None:
    with contextlib.closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as other:
        other.bind((HOST, 0))
        port = other.getsockname()[1]
        with pytest.raises(OurError, match=f"port {port} for DNS cannot be used: "):
            LocalStack(template, dns_port=port).__enter__()


def test_the_template_gets_the_stacks_resolvers_and_anchors(stack, one, ask) -> None:
    found = ask(one.client, one.outputs["Inbox"], "where")
    assert found["resolvers"] == f"udp://{stack.dns.address}"
    function = one.client("lambda").get_function_configuration(FunctionName=one.outputs["Inbox"])
    assert function["Environment"]["Variables"]["OUTBOUND_PORT"] == str(stack.edge.port)


def test_parameters_of_the_caller_override_those_of_the_stack(stack, ask) -> None:
    deployment = stack.deploy("deaf", {"Resolvers": "udp://127.0.0.1:9"})
    assert ask(deployment.client, deployment.outputs["Inbox"], "where")["resolvers"] == "udp://127.0.0.1:9"


def test_settings_of_the_caller_override_those_of_the_template(stack, ask) -> None:
    deployment = stack.deploy("set", settings={"GREETING": "hi", "OF_NO_FUNCTION": "x"})
    found = ask(deployment.client, deployment.outputs["Inbox"], "where")
    assert (found["greeting"], "OF_NO_FUNCTION" in found["environment"]) == ("hi", False)


def test_a_name_put_into_the_tree_leads_through_the_edge_to_the_deployment(stack, one) -> None:
    stack.tree.put("whole.example", "@ 60 IN A 127.0.0.1\nnlweb 60 IN A 127.0.0.1\n")
    question = dns.message.make_query("nlweb.whole.example", "A")
    answer = dns.query.udp(question, HOST, port=stack.dns.port, timeout=PATIENCE)
    address = answer.answer[0][0].address
    one.serve_host("nlweb.whole.example")

    class Resolved(httpcore.SyncBackend):
        def connect_tcp(self, host, port, **options):
            return super().connect_tcp(address, port, **options)

    with httpcore.ConnectionPool(stack.authority.client_context(), network_backend=Resolved()) as pool:
        response = pool.request("GET", f"https://nlweb.whole.example:{stack.edge.port}/do/text")
    assert response.content == b"hello"


def test_the_stack_can_start_in_a_thread(template: Path) -> None:
    ports = []

    def run() -> None:
        with LocalStack(template) as stack:
            ports.append(stack.edge.port)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert ports
    assert not is_open(ports[0])
