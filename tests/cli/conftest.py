"""Fixtures for tests of the command line: `postroom` in this process, in an empty folder and a clean environment."""

import json
import os
import socket
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
import typer
from click.testing import CliRunner, Result
from tests.names.patience import unhurried
from tests.patience import PATIENCE

from postroom.cli.app import app
from postroom.cli.descriptor import DescribedDeployment, Descriptor
from postroom.cli.exits import Exit
from postroom.cli.message_events.event_log import FUNCTIONS
from postroom.client import Mailbox
from postroom.core.settings import DeploymentSettings, read_outputs
from postroom.crypto.rsa_ed25519 import PrivateKey
from postroom.local.checkout import template_path
from postroom.local.clients import REGION, Clients
from postroom.local.dns import DnsServer
from postroom.local.emulator import Emulator
from postroom.local.template import read
from postroom.local.zones import Mode, ZoneTree
from postroom.protocols.nlweb.key_record import record_text, zone_line
from postroom.runtime.deployment import Deployment
from postroom.runtime.storage_parts import StorageParts

Postroom = Callable[..., Result]
COMMAND = typer.main.get_command(app)
"""Made once: to make it takes longer than most commands."""


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark the tests with an embedded AWS. It has no functions and is cheap, so they are in the quick tier."""
    fixtures = item.fixturenames  # type: ignore[attr-defined]
    if "emulator" in fixtures:
        item.add_marker(pytest.mark.stack(tier="quick"))
    elif {"deployments", "running", "two"} & set(fixtures):
        item.add_marker(pytest.mark.stack)


@pytest.fixture(autouse=True)
def no_hurry(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let commands have all the time for look-ups and for hosts: this machine may be busy."""
    settings = partial(DeploymentSettings, dns_try_seconds=PATIENCE, dns_budget_seconds=PATIENCE)
    monkeypatch.setattr("postroom.cli.network.DeploymentSettings", settings)
    with unhurried():
        yield


@pytest.fixture
def postroom(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Postroom:
    """Run a command; `input` is its standard input."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("POSTROOM_")]:
        monkeypatch.delenv(name)

    def run(*arguments: str, input: str | bytes | None = None) -> Result:  # noqa: A002 - CliRunner calls it so
        result = CliRunner().invoke(COMMAND, list(arguments), input=input)
        assert "Traceback" not in result.output
        return result

    return run


def code_of(sentence: str) -> Exit:
    """The exit code for an error message: not found, or wrong usage."""
    absent = ("No such file", "there is no ", "has no owner here", "is not registered", "is not in the directory")
    return Exit.NOT_FOUND if any(words in sentence for words in absent) else Exit.USAGE


@pytest.fixture
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let retries happen without waiting."""
    monkeypatch.setitem(Mailbox.__init__.__kwdefaults__, "sleep", lambda _seconds: None)
    monkeypatch.setattr("postroom.cli.outbox._LOOK_SECONDS", 0.0)


@dataclass(frozen=True)
class FakeDns:
    """Zones on a loopback resolver: of a sender; without signatures; with broken signatures."""

    key: PrivateKey
    key_file: Path
    resolver: str
    silent_resolver: str
    anchor_file: Path
    tree: ZoneTree

    @property
    def options(self) -> tuple[str, ...]:
        return ("--resolver", self.resolver, "--trust-anchor", str(self.anchor_file))


@pytest.fixture(scope="session")
def fake_dns(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FakeDns]:
    folder = tmp_path_factory.mktemp("dns")
    key = PrivateKey.generate("rsa")
    (folder / "key.pem").write_bytes(key.to_pem())
    tree = ZoneTree()
    zones = {"sender.example": Mode.SIGNED, "unsigned.example": Mode.UNSIGNED, "bogus.example": Mode.BOGUS}
    for domain, mode in zones.items():
        names = (f"nlweb._domainkey.{domain}", f"pk1._domainkey.pw.{domain}")
        tree.put(domain, "".join(zone_line(name, record_text(key.public)) + "\n" for name in names), mode)
    (folder / "anchor").write_text(tree.anchor_text)
    # Bound but not listening: connections are refused, and nobody else can get the port.
    with DnsServer(tree) as server, socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        silent = f"tcp://127.0.0.1:{deaf.getsockname()[1]}"
        yield FakeDns(key, folder / "key.pem", server.address, silent, folder / "anchor", tree)


@pytest.fixture
def envelope(postroom: Postroom, fake_dns: FakeDns) -> Callable[..., str]:
    """A signed envelope as `postroom sign` prints it. `options`: before the usual ones."""

    def make(*options: str, sender: str = "sender.example", body: str = '{"Say": "hi 🤝"}') -> str:
        result = postroom(
            "sign", "-", "--key", str(fake_dns.key_file), "--from", sender, "--to", "receiver.example",
            "--subject", "Hello@Host", *options, input=body,
        )  # fmt: skip
        assert result.exit_code == 0, result.output
        return result.stdout

    return make


@dataclass(frozen=True)
class StorageStack:
    """The tables, bucket and secrets of a deployment in the embedded AWS: options that name it, and clients."""

    options: tuple[str, ...]
    aws: dict[str, str]
    stack_name: str
    clients: Clients
    outputs: Mapping[str, str]
    descriptor: Path

    @property
    def storage(self) -> StorageParts:
        """The deployment's tables, bucket and secrets as library objects."""
        return Deployment(read_outputs(self.outputs), self.clients).storage


@pytest.fixture(scope="session")
def emulator() -> Iterator[Emulator]:
    with Emulator() as running:
        yield running


@pytest.fixture(scope="session")
def storage_stack(emulator: Emulator, tmp_path_factory: pytest.TempPathFactory) -> StorageStack:
    """The store of the template, without functions."""
    return create_storage_stack(emulator, "700000000001", tmp_path_factory.mktemp("stack"))


def create_storage_stack(emulator: Emulator, account: str, folder: Path) -> StorageStack:
    document = read(template_path())
    kept = {
        name: resource
        for name, resource in document["Resources"].items()
        if resource["Type"].rpartition("::")[0] in ("AWS::DynamoDB", "AWS::SecretsManager")
        # Without their policies, which require TLS.
        or resource["Type"] in ("AWS::SQS::Queue", "AWS::S3::Bucket")
    }
    told = {output["Value"].get("Ref") for output in document["Outputs"].values()}
    parameters = {name: parameter for name, parameter in document["Parameters"].items() if name in told}
    outputs = {
        name: output
        for name, output in document["Outputs"].items()
        if output["Value"].get("Ref") in {**kept, **parameters}
    }
    body = json.dumps({"Parameters": parameters, "Resources": kept, "Outputs": outputs})
    clients = emulator.clients(account)
    cloudformation = clients("cloudformation")
    cloudformation.create_stack(StackName="storage", TemplateBody=body)
    cloudformation.get_waiter("stack_create_complete").wait(StackName="storage", WaiterConfig={"Delay": 1})
    [stack] = cloudformation.describe_stacks(StackName="storage")["Stacks"]
    found = {output["OutputKey"]: output["OutputValue"] for output in stack["Outputs"]}
    # The functions do not exist, but the names of their logs are derived from these outputs.
    found |= {name: name.removesuffix("Function").lower() for name in FUNCTIONS}
    file = folder / "local.json"
    Descriptor(
        "127.0.0.1:9", "", "", 1, emulator.endpoint, emulator.secret, {"only": DescribedDeployment(account, found)}
    ).write(file)
    aws = {
        "AWS_ENDPOINT_URL": emulator.endpoint,
        "AWS_ACCESS_KEY_ID": account,
        "AWS_SECRET_ACCESS_KEY": emulator.secret,
        "AWS_DEFAULT_REGION": REGION,
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    }
    return StorageStack(("--local", str(file)), aws, "storage", clients, found, file)
