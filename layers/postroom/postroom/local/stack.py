"""The whole post office on one machine: DNS, TLS edge, embedded AWS, and any number of deployments.

    with LocalStack(Path("template.yaml")) as stack:
        receiver = stack.deploy("receiver")
        receiver.serve_host("nlweb.receiver.example")
        stack.tree.put("receiver.example", zone_text)

It ends with the block, on Ctrl-C, on SIGTERM and SIGHUP (as SystemExit, so that blocks are left properly), and when the
process dies for any reason: DNS and edge are its threads, and the embedded AWS is held on a `supervisor`.
"""

import json
import shutil
import signal
import threading
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import NamedTuple, NoReturn

from postroom.core.errors import OurError
from postroom.local.authority import Authority
from postroom.local.clients import REGION, Clients
from postroom.local.deploy import deploy
from postroom.local.dns import DnsServer
from postroom.local.edge import Edge, find_target
from postroom.local.edge_sockets import find_socket_target
from postroom.local.emulator import Emulator, Processes
from postroom.local.intrinsics import Resource
from postroom.local.ports import HOST, free_port, require_free
from postroom.local.template import read
from postroom.local.zones import ZoneTree

FIRST_ACCOUNT = 100_000_000_001
SOCKET_ZONE = f"execute-api.{REGION}.amazonaws.com"
"""The zone of the hosts of WebSocket APIs."""


class LogLine(NamedTuple):
    """A line that a function logged: its time (epoch milliseconds), the function's name in the template, the text."""

    time_ms: int
    function: str
    text: str


@dataclass(frozen=True)
class LocalDeployment:
    """One deployment of the template: an AWS account of its own within the embedded AWS."""

    name: str
    account: str
    outputs: Mapping[str, str]
    client: Clients
    """`client("sqs")`: a boto3 client of this account."""
    resources: tuple[Resource, ...]
    edge: Edge

    def serve_host(self, host: str) -> None:
        """Send HTTPS requests for `host` at the stack's edge to this deployment's HTTP API from now on."""
        apis = self._apis("HTTP")
        if len(apis) != 1:
            raise OurError(f"{self.name} has {len(apis)} HTTP APIs; a host can be served by one")
        self.edge.serve_host(host, find_target(apis[0], self.client))

    def serve_sockets(self) -> list[str]:
        """Send messages of WebSockets to this deployment's WebSocket APIs from now on; return their hosts."""
        apis = {f"{api}.{SOCKET_ZONE}": api for api in self._apis("WEBSOCKET")}
        for host, api in apis.items():
            self.edge.serve_sockets(host, find_socket_target(api, self.client))
        return list(apis)

    def _apis(self, protocol: str) -> list[str]:
        apis = [each for each in self.resources if each.type == "AWS::ApiGatewayV2::Api"]
        return [each.physical for each in apis if each.properties["ProtocolType"] == protocol]

    def logs(self) -> list[LogLine]:
        """Return what the functions of this deployment logged, by time."""
        logs = self.client("logs")
        groups = {group["logGroupName"] for group in logs.describe_log_groups()["logGroups"]}
        lines = [
            LogLine(event["timestamp"], resource.logical, event["message"].rstrip("\n"))
            for resource in self.resources
            if resource.type == "AWS::Lambda::Function"
            if (group := f"/aws/lambda/{resource.physical}") in groups
            for page in logs.get_paginator("filter_log_events").paginate(logGroupName=group)
            for event in page["events"]
        ]
        return sorted(lines, key=lambda line: line.time_ms)


class LocalStack:
    """Starts and stops everything; a context manager.

    `state_dir`: where the CA, DNS keys, ports, accounts and all of the embedded AWS survive the stack; only one stack
    at a time may use it. `zones_dir`: zone files to serve (see `ZoneTree`). Ports are free ones unless given, or
    remembered in the state. `processes`: how many each function may have. Raises OurError if something does not start.
    """

    def __init__(
        self,
        template: Path,
        *,
        state_dir: Path | None = None,
        zones_dir: Path | None = None,
        edge_port: int | None = None,
        dns_port: int | None = None,
        aws_port: int | None = None,
        processes: Processes | None = None,
    ) -> None:
        self.template = template
        self.deployments: dict[str, LocalDeployment] = {}
        self._socket_hosts: set[str] = set()
        self.state_dir = state_dir
        self._memory = _Memory(state_dir / "stack.json" if state_dir else None)
        self._requested_ports = {"dns": dns_port, "edge": edge_port, "aws": aws_port}
        self._zones_dir = zones_dir
        self._processes = processes
        self._undo = ExitStack()

    def __enter__(self) -> "LocalStack":
        with ExitStack() as undo:
            self._start(undo)
            self._undo = undo.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Stop everything, in the reverse order of its start. May be called twice."""
        self._undo.close()

    def _start(self, undo: ExitStack) -> None:
        undo.enter_context(_SignalsUnwind())
        emulator_state = self.state_dir / "aws" if self.state_dir else None
        self.emulator = Emulator(port=self._wanted("aws"), state_dir=emulator_state, processes=self._processes)
        undo.callback(self.emulator.stop)  # also if what is before it does not start
        # Without a state directory, the emulator's own: it is removed whatever happens to this process.
        keep = self.state_dir or self.emulator.directory
        self.tree = ZoneTree(self._zones_dir, keys_directory=keep / "dns")
        self.dns = DnsServer(self.tree, HOST, self._port("dns", "DNS", with_udp=True))
        undo.enter_context(self.dns)
        self.authority = Authority(keep / "ca")
        self.edge = Edge(self.authority, self._port("edge", "the post offices"))
        undo.enter_context(self.edge)
        # Last: with state, its functions go on with what is in their queues, and look senders up.
        undo.enter_context(self.emulator)
        self._memory.remember("ports", {"aws": self.emulator.port, "dns": self.dns.port, "edge": self.edge.port})

    def deploy(
        self, name: str, parameters: Mapping[str, str] | None = None, settings: Mapping[str, str] | None = None
    ) -> LocalDeployment:
        """Create the deployment `name` from the template, or update it to the current template.

        The stack sets those of its own parameters that the template declares; `parameters` take precedence. `settings`:
        environment variables of functions, instead of the template's.
        """
        accounts = self._memory.recall("accounts")
        account = accounts.setdefault(name, FIRST_ACCOUNT + len(accounts))
        self._memory.remember("accounts", accounts)
        clients = self.emulator.clients(str(account))
        declared = read(self.template).get("Parameters", {})
        own = {key: value for key, value in (self.parameters() | _everything_of(account)).items() if key in declared}
        deployed = deploy(self.template, name, clients, own | dict(parameters or {}), settings)
        deployment = LocalDeployment(name, str(account), deployed.outputs, clients, deployed.resources, self.edge)
        self.deployments[name] = deployment
        self._socket_hosts.update(deployment.serve_sockets())
        if self._socket_hosts:
            # Functions find their own WebSockets by DNS.
            self.tree.put(SOCKET_ZONE, "".join(f"{host}. IN A {HOST}\n" for host in sorted(self._socket_hosts)))
        return deployment

    def parameters(self) -> dict[str, str]:
        """Return the template parameters with which a deployment uses this stack's DNS, edge and accounts."""
        return {
            "Resolvers": f"udp://{self.dns.address}",
            "TrustAnchors": self.tree.anchor_text.strip(),
            "OutboundPort": str(self.edge.port),
            "OutboundCaFile": str(self.authority.pem),
            "OutboundAllowPrivate": "true",
        }

    def _wanted(self, what: str) -> int | None:
        return self._requested_ports[what] or self._memory.recall("ports").get(what)

    def _port(self, what: str, who: str, *, with_udp: bool = False) -> int:
        port = self._wanted(what)
        return require_free(port, who, with_udp=with_udp) if port else free_port()


def _everything_of(account: int) -> dict[str, str]:
    """On one machine, subjects may be forwarded to, and owners notified by, everything in the account."""
    where = f"{REGION}:{account}"
    return {
        "ForwardQueueArns": f"arn:aws:sqs:{where}:*",
        "ForwardBusArns": f"arn:aws:events:{where}:event-bus/*",
        "HandlerFunctionArns": f"arn:aws:lambda:{where}:function:*",
        "NotifyTopicArn": f"arn:aws:sns:{where}:*",
    }


class _Memory:
    """What a stack must remember: a small JSON file, or only memory."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._kept: dict[str, dict[str, int]] = {}
        if path and path.exists():
            self._kept = json.loads(path.read_text())

    def recall(self, what: str) -> dict[str, int]:
        return dict(self._kept.get(what, {}))

    def remember(self, what: str, values: dict[str, int]) -> None:
        self._kept[what] = values
        if self._path:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            fresh = self._path.with_suffix(".new")
            fresh.write_text(json.dumps(self._kept, indent=1))
            shutil.move(fresh, self._path)


class _SignalsUnwind:
    """Within the block, SIGTERM and SIGHUP raise SystemExit, unless they are handled already (or this is a thread).

    So closing a terminal leaves as little behind as Ctrl-C does; nohup, which ignores SIGHUP, still works.
    """

    def __enter__(self) -> None:
        in_main = threading.current_thread() is threading.main_thread()
        self._ours = [n for n in (signal.SIGTERM, signal.SIGHUP) if in_main and signal.getsignal(n) is signal.SIG_DFL]
        for number in self._ours:
            signal.signal(number, _leave)

    def __exit__(self, *_: object) -> None:
        for number in self._ours:
            signal.signal(number, signal.SIG_DFL)


def _leave(number: int, _frame: FrameType | None) -> NoReturn:
    raise SystemExit(128 + number)
