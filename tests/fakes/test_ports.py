"""Every port of the pipeline, the courier and the look-ups has one public fake, which fits it.

mypy checks the types (`make check`); the tests, that a call of the port is a call of the fake.
"""

import inspect
import sys
from types import ModuleType
from typing import Protocol, get_type_hints

import pytest
from tests.fakes.clock import FakeClock
from tests.fakes.names import FakeRegistry
from tests.fakes.net import FakeHttps
from tests.fakes.outbound import FakeCarrier, FakeManifests, FakeOurKeys, FakeOutbound, FakeQueue
from tests.fakes.pipeline import (
    FakeAccounts,
    FakeDirectory,
    FakeForwarding,
    FakeHandlers,
    FakeHideQueue,
    FakeMessagesOfOwners,
    FakeProfiles,
    FakeSenderKeys,
    FakeServiceKeys,
)

from postroom.http.sign_in import OwnerDirectory, Users
from postroom.names.manifest import Gets
from postroom.names.registry import Registry
from postroom.outbound import ports as outbound_ports
from postroom.outbound.feedback_buffers import FirstKey, Posts
from postroom.outbound.notification_sender import Carrier
from postroom.outbound.ports import Clock, Manifests, OurKeys, Outbound, SendQueue
from postroom.pipeline import ports as pipeline_ports
from postroom.pipeline.ports import (
    Accounts,
    DeploymentRules,
    Dm3Directory,
    Forwarding,
    Handlers,
    HideQueue,
    MessagesOfOwners,
    ProfileSource,
    SenderKeys,
    ServiceKeySource,
)

clock: Clock = FakeClock()
sender_keys: SenderKeys = FakeSenderKeys()
messages_of_owners: MessagesOfOwners = FakeMessagesOfOwners()
deployment_rules: DeploymentRules = FakeDirectory()
dm3_directory: Dm3Directory = FakeDirectory()
service_keys: ServiceKeySource = FakeServiceKeys()
profiles: ProfileSource = FakeProfiles()
accounts: Accounts = FakeAccounts()
handlers: Handlers = FakeHandlers()
forwarding: Forwarding = FakeForwarding()
hide_queue: HideQueue = FakeHideQueue()
manifests: Manifests = FakeManifests()
our_keys: OurKeys = FakeOurKeys()
outbound: Outbound = FakeOutbound()
queue: SendQueue = FakeQueue()
carrier: Carrier = FakeCarrier()
posts: Posts = FakeHttps()
first_key: FirstKey = FakeOurKeys()
gets: Gets = FakeHttps()
registry: Registry = FakeRegistry()
owner_directory: OwnerDirectory = FakeDirectory()
users: Users = FakeProfiles()


def is_port(value: object) -> bool:
    return isinstance(value, type) and Protocol in value.__bases__


PORTS: dict[str, type] = {name: port for name, port in get_type_hints(sys.modules[__name__]).items() if is_port(port)}
"""The port of each fake above."""


@pytest.mark.parametrize("name", PORTS)
def test_a_fake_takes_the_arguments_that_its_port_names(name: str) -> None:
    port, fake = PORTS[name], globals()[name]
    methods = {each: method for each, method in vars(port).items() if inspect.isfunction(method) and each[0] != "_"}
    assert methods
    for method, declared in methods.items():
        expected = list(inspect.signature(declared).parameters.values())[1:]
        named = {each.name for each in expected}
        # A fake of two ports may take more, if it need not be given.
        taken = [
            each
            for each in inspect.signature(getattr(fake, method)).parameters.values()
            if each.name in named or each.default is inspect.Parameter.empty
        ]
        assert [(each.name, each.kind, each.default) for each in taken] == [
            (each.name, each.kind, each.default) for each in expected
        ]


@pytest.mark.parametrize("ports", [pipeline_ports, outbound_ports])
def test_every_port_of_the_pipeline_and_of_the_courier_has_a_fake(ports: ModuleType) -> None:
    declared = {value for value in vars(ports).values() if is_port(value)}
    assert declared
    assert declared <= set(PORTS.values())
