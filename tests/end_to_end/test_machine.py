"""The rules of a mailbox (tests/http/machine.py), played over HTTPS at a real deployment of the local stack.

Messages are filed by hand, as late as the rules wish, and by the real inbox and worker. Few examples are played; more
by `MACHINE_EXAMPLES=50`.
"""

import json
import os
import ssl
import time
from collections.abc import Iterator

import httpx
import pytest
from hypothesis.stateful import rule, run_state_machine_as_test
from tests.aws import Clients, Deployed
from tests.end_to_end.machines import at_the_stack
from tests.fakes.clock import FakeClock
from tests.http.api_stack import HOST, SHOP, ApiStack
from tests.http.machine import MailboxMachine
from tests.patience import PATIENCE
from tests.tiers import examples

from postroom.demo.deployment import DemoDeployment, until
from postroom.demo.scenes import Story
from postroom.demo.stack import SUBJECT, DemoStack
from postroom.http.request import HttpRequest
from postroom.http.response import HttpResponse
from postroom.local.stack import LocalDeployment
from postroom.protocols.nlweb.schema import NLWEB
from postroom.protocols.nlweb.subjects import SubjectRule, Treatment
from postroom.storage.mail.ids import id_of

# One stack serves all of these: they run in one process.
pytestmark = pytest.mark.xdist_group("demo")

EXAMPLES = int(os.environ.get("MACHINE_EXAMPLES", examples(8)))
STEPS = 25


class RealClock(FakeClock):
    """Time passes by itself; who would set it waits for nothing."""

    def __init__(self) -> None:
        super().__init__(0.0)

    @property
    def now(self) -> float:
        return time.time()

    @now.setter
    def now(self, _: float) -> None:
        pass


class RemoteApi(ApiStack):
    """The mailbox API of a deployment, asked over HTTPS. Changes to its store bypass it."""

    def __init__(self, deployment: LocalDeployment, demo_stack: DemoStack) -> None:
        client, outputs = deployment.client, deployment.outputs
        names = ("PostTable", "DirectoryTable", "LimitsTable", "OutboxTable", "StorageTable", "DcpTable")
        store = Deployed(
            Clients(client("dynamodb"), client("s3"), client("sqs"), client("secretsmanager")),
            bucket=outputs["Bucket"],
            secrets={name: outputs[f"{name}Secret"] for name in ("TokenKeys", "WebhookKeys", "DcpIdentities")},
            tables={name: outputs[name] for name in names},
            queues={"CourierQueue": outputs["CourierQueueUrl"]},
        )
        super().__init__(store, RealClock())
        trusted = ssl.create_default_context(cafile=str(demo_stack.stack.authority.pem))
        self.https = httpx.Client(
            base_url=f"https://127.0.0.1:{demo_stack.stack.edge.port}",
            verify=trusted,
            trust_env=False,
            timeout=PATIENCE,
        )

    def answer(self, asked: HttpRequest) -> HttpResponse:
        answer = self.https.request(
            asked.method, asked.path, params=asked.query, headers={"host": asked.host, **asked.headers},
            content=asked.body, extensions={"sni_hostname": asked.host},
        )  # fmt: skip
        return HttpResponse(answer.status_code, answer.headers["content-type"], answer.content)

    def clear(self) -> None:
        """No message is there any more, nor was ever."""
        dynamodb, s3 = self.deployed.clients.dynamodb, self.deployed.clients.s3
        for row in self.deployed.rows("PostTable"):
            key = {name: row[name] for name in ("pk", "sk")}
            dynamodb.delete_item(TableName=self.deployed.tables["PostTable"], Key=key)
        for name in self.deployed.objects():
            s3.delete_object(Bucket=self.deployed.bucket, Key=name)


class FarMailbox(MailboxMachine):
    # As `postroom mailbox rotate-keys` has it: by then every instance of the function has read the key.
    key_begins_after = 120

    def __init__(self, api: RemoteApi, demo_deployment: DemoDeployment, story: Story) -> None:
        super().__init__(api)
        self._far = api
        self._deployment = demo_deployment
        self._story = story

    def teardown(self) -> None:
        self._far.clear()

    @rule(target=MailboxMachine.filed)
    def deliver_to_the_inbox(self) -> str:
        """A message by the real way: posted, queued, verified, filed by the worker."""
        sent = self._story.envelope(self._story.demo.sender, {"Text": "Good morning"}, to=SHOP)
        known = {row.key for row in self._deployment.rows()}
        assert self._story.post(sent, NLWEB.inbox_url(SHOP))[0] == 200
        filed = until("it is filed", lambda: {row.key for row in self._deployment.rows()} - known or None)
        message = id_of(filed.pop())
        self.waiting[message] = json.dumps(sent, ensure_ascii=False)
        return message


@pytest.fixture(scope="module")
def demo_deployment(demo_stack: DemoStack) -> DemoDeployment:
    """shop.com has a post office of its own, at which nobody asks too often."""
    demo_deployment = DemoDeployment(SHOP, demo_stack.stack.deploy("machine", {"MailboxApiRequestsPerSecond": "1000"}))
    demo_deployment.operators.put_subject(SHOP, SubjectRule(SUBJECT, Treatment.MAILBOX, SHOP))
    # As many as `spread` makes, before the first request: the mailbox API caches the number of shards for 30 s.
    demo_deployment.mailboxes.raise_shards(SHOP, 4)
    demo_deployment.deployment.serve_host(HOST)
    return demo_deployment


@pytest.fixture(scope="module")
def api(demo_stack: DemoStack, demo_deployment: DemoDeployment) -> Iterator[RemoteApi]:
    far = RemoteApi(demo_deployment.deployment, demo_stack)
    yield far
    far.https.close()


def test_an_owner_sees_each_unacknowledged_message_once_in_a_pass_whatever_happens(
    api: RemoteApi, demo_deployment: DemoDeployment, story: Story
) -> None:
    run_state_machine_as_test(
        lambda: FarMailbox(api, demo_deployment, story),
        settings=at_the_stack(EXAMPLES, STEPS),
    )
