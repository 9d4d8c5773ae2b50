"""People who chat by commands: their keys and homes in a folder, delivery services and mailboxes on loopback."""

import json
import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from tests.aws import clients as clients
from tests.aws import deployed as deployed
from tests.cli.conftest import FakeDns, Postroom
from tests.cli.served_api import URL, ServedApi, serve
from tests.client.chat.network import ALICE, BOB, CAROL, EDDY, ChatNetwork, Person
from tests.client.dm3_net import served
from tests.http.api_stack import ApiStack
from tests.http.conftest import api as api

from postroom.cli.descriptor import Descriptor
from postroom.local.authority import Authority
from postroom.names.registry import PROFILE_KEY, SERVICE_KEY
from postroom.storage.directory.domains import Dm3Mailbox

PEOPLE = (ALICE, BOB, CAROL, EDDY)


class CommandNetwork(ChatNetwork):
    """The network at the time of day, as commands have it; `filed` messages wait in mailboxes of an API."""

    def __init__(self, api: ApiStack) -> None:
        super().__init__()
        for name in PEOPLE:
            self._file_in(api, self[name])

    def tick(self, milliseconds: int = 0) -> int:
        return int(time.time() * 1000) + milliseconds

    def _file_in(self, api: ApiStack, person: Person) -> None:
        api.users.keys[person.name] = person.keys.signing
        api.operators.put_dm3_mailbox(Dm3Mailbox(person.name))
        service = person.service

        def file() -> None:
            for message in service.waiting:
                receipt = {"protocol": "dm3"}
                api.file(message.envelope, mailbox=person.name, conversation=message.partner, receipt=receipt)
            service.waiting.clear()

        service.after_filing = file


@dataclass
class Services:
    """The delivery services on loopback."""

    network: ChatNetwork
    port: int = 0

    def answer(self, host: str, _path: str, body: bytes) -> tuple[int, bytes]:
        service = self.network.services[host.removesuffix(".example")]
        if service.is_down:
            return 503, b""
        response = service.post(body)
        return response.status, response.body


@dataclass
class ChatCommands:
    """`postroom chat` as somebody. `mailboxes`: the API of everybody's post office."""

    network: ChatNetwork
    mailboxes: ServedApi
    postroom: Postroom
    folder: Path
    options: tuple[str, ...]

    def __call__(self, who: str, *arguments: str, home: str = "", stdin: str | None = None) -> Result:
        """A command as somebody; at first, the home becomes theirs."""
        at = ("--at", URL) if arguments[0] in ("pull", "watch") else ()
        return self.postroom(
            "chat", *arguments, *at, "--key", f"{who}.json", "--home", home or f"{who}.home", "--as", who,
            *self.options, input=stdin,
        )  # fmt: skip

    def said(self, who: str, *arguments: str, code: int = 0) -> Any:
        """What a command says to programs."""
        done = self(who, *arguments, "--json")
        assert done.exit_code == code, done.output
        return json.loads(done.stdout)

    def archive(self, who: str, *arguments: str) -> Result:
        return self.postroom("archive", *arguments, "--key", f"{who}.json", "--home", f"{who}.home")

    def write_names(self) -> None:
        """Write the profiles that commands find."""
        registry = self.network.registry
        names = {
            name: {key: text for key in (PROFILE_KEY, SERVICE_KEY) if (text := registry.text(name, key).value)}
            for name in (*self.network.people, *self.network.services)
        }
        (self.folder / "names.json").write_text(json.dumps(names))


@contextmanager
def chat_commands(api: ApiStack, fake_dns: FakeDns, postroom: Postroom, folder: Path) -> Iterator[ChatCommands]:
    """The commands of people who chat, while their services run."""
    network = CommandNetwork(api)
    hosts = [f"ds-{name}.example" for name in PEOPLE]
    for name, host in zip(PEOPLE, hosts, strict=True):
        network.publish_service(name, f"https://{host}")
        fake_dns.tree.put(host, "@ IN A 127.0.0.1\n")
        (folder / f"{name}.json").write_text(json.dumps(network[name].keys.as_json()))
    context: ssl.SSLContext = Authority(folder / "ca").server_context(*hosts)
    context.set_alpn_protocols(["http/1.1"])
    services = Services(network)
    with serve(api, folder) as mailboxes, served(services, context):
        ca_file = str(mailboxes.ca_file)
        stack = Descriptor(fake_dns.resolver, "", ca_file, mailboxes.port, "http://127.0.0.1:9", "", {})
        stack.write(mailboxes.local)
        options = (
            "--pinned", "names.json", "--ca-file", ca_file, "--local", str(mailboxes.local),
            "--port", str(services.port),
        )  # fmt: skip
        commands = ChatCommands(network, mailboxes, postroom, folder, options)
        commands.write_names()
        yield commands


@pytest.fixture
def chat(
    api: ApiStack, fake_dns: FakeDns, postroom: Postroom, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[ChatCommands]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with chat_commands(api, fake_dns, postroom, tmp_path) as commands:
        yield commands
