"""The deployment of a soak in a local stack, senders with signed zones, and their buffer.

The functions do not run in the emulator, but in processes of their own (`hand`). Its event source mappings are switched
off, and the visibility time-outs of the queues are shortened to seconds, so that the messages of a killed process are
delivered again in the same run.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.soak.mix import LOUD, QUIET
from tests.soak.sink import Sink

from postroom.crypto.rsa_ed25519 import PrivateKey
from postroom.demo.deployment import DemoDeployment
from postroom.demo.names import Names
from postroom.local.checkout import template_path
from postroom.local.clients import REGION
from postroom.local.stack import LocalDeployment, LocalStack
from postroom.protocols.nlweb.key_record import record_text, zone_line
from postroom.protocols.nlweb.schema import NLWEB
from postroom.protocols.nlweb.subjects import SubjectRule, Treatment
from postroom.storage.directory.domains import Domain

RECEIVER: Final = "receiver.example"
BUFFER: Final = "buffer.example"
SELECTOR: Final = "pk1"
SUBJECT: Final = "Hello@Host"
DM3_HOST: Final = f"dm3.{RECEIVER}"
VISIBILITY_SECONDS: Final = 20
_PATIENT: Final = {"DNS_TRY_SECONDS": "10", "DNS_BUDGET_SECONDS": "15", "MANIFEST_SECONDS": "40"}
"""Longer than the defaults: this machine is busy, and a host that is not found is not tried again for minutes."""
_HOST: Final = "nlweb IN A 127.0.0.1\n"
_QUEUES: Final = (
    "ClaimsQueueUrl",
    "RetryQueueUrl",
    "SuspectsQueueUrl",
    "LookUpsQueueUrl",
    "WaitingQueueUrl",
    "CourierQueueUrl",
    "FeedbackQueueUrl",
)


@dataclass(frozen=True, slots=True)
class Sender:
    """A domain that sends, and its IP address."""

    domain: str
    key: PrivateKey
    source: str


@dataclass(frozen=True)
class SoakStack:
    """The parts of a soak that do not change during a run."""

    local: LocalStack
    deployment: LocalDeployment
    demo: DemoDeployment
    names: Names
    senders: tuple[Sender, ...]
    sink: Sink

    def environment(self, function: str) -> dict[str, str]:
        """The template's environment of a function, with longer time-outs and its AWS; nothing of the shell's."""
        configuration = self.deployment.client("lambda").get_function_configuration(
            FunctionName=self.deployment.outputs[function]
        )
        return {
            **configuration["Environment"]["Variables"],
            **_PATIENT,
            "AWS_ENDPOINT_URL": self.local.emulator.endpoint,
            "AWS_ACCESS_KEY_ID": self.deployment.account,
            "AWS_SECRET_ACCESS_KEY": self.local.emulator.secret,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_LAMBDA_FUNCTION_NAME": self.deployment.outputs[function],
            "HOME": str(self.local.emulator.directory),
            "LANG": "C.UTF-8",
        }


@contextmanager
def open_stack(folder: Path) -> Iterator[SoakStack]:
    """The stack, until the end of the block; `folder`: for zones, keys and logs."""
    senders = tuple(_senders())
    keys = {sender.domain: sender.key for sender in senders}
    keys[RECEIVER] = PrivateKey.generate("ed25519")
    with LocalStack(template_path(), zones_dir=_write_zones(folder / "zones", keys)) as local:
        hosts = [NLWEB.host(domain) for domain in (BUFFER, *(sender.domain for sender in senders))]
        with Sink(local.authority.server_context(*hosts), BUFFER) as sink:
            # Feedback is not limited, because summaries would wait for the end of the hour.
            limits = {"OutboundPort": str(sink.port), "FeedbackPerDomainAndHour": "100000000"}
            deployment = local.deploy("receiver", limits)
            demo = DemoDeployment(RECEIVER, deployment)
            demo.operators.put_domain(Domain(RECEIVER))
            demo.operators.put_subject(RECEIVER, SubjectRule(SUBJECT, Treatment.MAILBOX, RECEIVER))
            demo.signing_keys.put(RECEIVER, SELECTOR, keys[RECEIVER])
            _take_over(deployment)
            yield SoakStack(local, deployment, demo, Names(demo, DM3_HOST, folder / "keys"), senders, sink)


def _senders() -> Iterator[Sender]:
    for number in range(LOUD + QUIET):
        name = f"loud{number}.example" if number < LOUD else f"quiet{number}.example"
        # Each loud sender has a network of its own; the quiet senders share one, 203.0.113.0/24.
        source = f"198.51.{100 + number}.1" if number < LOUD else f"203.0.113.{number}"
        yield Sender(name, PrivateKey.generate("ed25519"), source)


def _write_zones(folder: Path, keys: Mapping[str, PrivateKey]) -> Path:
    folder.mkdir(parents=True)
    for domain, key in keys.items():
        record = zone_line(NLWEB.key_name(domain, SELECTOR), record_text(key.public))
        (folder / f"{domain}.zone").write_text(f"{_HOST}{record}\n", encoding="utf-8")
    (folder / f"{BUFFER}.zone").write_text(_HOST, encoding="utf-8")
    return folder


def _take_over(deployment: LocalDeployment) -> None:
    functions, sqs = deployment.client("lambda"), deployment.client("sqs")
    for page in functions.get_paginator("list_event_source_mappings").paginate():
        for mapping in page["EventSourceMappings"]:
            functions.update_event_source_mapping(UUID=mapping["UUID"], Enabled=False)
    for queue in _QUEUES:
        sqs.set_queue_attributes(
            QueueUrl=deployment.outputs[queue], Attributes={"VisibilityTimeout": str(VISIBILITY_SECONDS)}
        )
