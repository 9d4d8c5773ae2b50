"""alice.eth writes to bob.eth over real HTTPS and real queues, asserted on what is stored."""

import json

import pytest
from tests.end_to_end import dumps

from postroom.client import SendOutcome
from postroom.client.dm3 import Dm3Draft, Dm3Sender, Dm3Sent
from postroom.core.ijson import JsonValue
from postroom.demo.deployment import until
from postroom.demo.names import ALICE, BOB
from postroom.demo.scenes import Story, now_ms
from postroom.demo.stack import DM3_HOST, DemoStack
from postroom.net.https import HttpsClient, HttpsResponse
from postroom.protocols.dm3.envelope import open_message, read_envelope
from postroom.protocols.dm3.keys import UserKeys
from postroom.storage.layout import seen_key_dm3
from postroom.storage.mail.reader import Filed

pytestmark = pytest.mark.xdist_group("demo")


@pytest.fixture
def https(demo_stack: DemoStack) -> HttpsClient:
    return HttpsClient(
        lambda _host: ["127.0.0.1"],
        port=demo_stack.stack.edge.port,
        allow_private=True,
        ca_file=str(demo_stack.stack.authority.pem),
    )


def write(
    demo_stack: DemoStack, https: HttpsClient, text: str, sender: str = ALICE, keys: UserKeys | None = None
) -> Dm3Sent:
    """Send a message to BOB. `keys`: the sender's, unless the demo has them."""
    who = Dm3Sender(sender, keys or demo_stack.names.users[sender], demo_stack.names.profiles, https)

    def send() -> Dm3Sent | None:
        # A look-up in the inbox has a second; on a busy machine the first one may take longer.
        sent = who.send(Dm3Draft(BOB, text))
        return None if sent.fate is SendOutcome.NOT_NOW else sent

    return until("it is taken or refused", send)


def call(https: HttpsClient, body: JsonValue) -> HttpsResponse:
    return https.post(f"https://{DM3_HOST}/dm3", json.dumps(body).encode(), "application/json")


def submission(sent: Dm3Sent, **more: JsonValue) -> dict[str, JsonValue]:
    assert sent.envelope
    return {"jsonrpc": "2.0", "method": "dm3_submitMessage", "params": [sent.envelope.as_json()], **more}


def find(demo_stack: DemoStack, sent: Dm3Sent) -> Filed:
    def look() -> Filed | None:
        filed = demo_stack.receiver.filed(BOB)
        return next((each for each in filed if each.line.receipt["message_hash"] == sent.message_hash), None)

    return until("it is filed", look)


def test_a_message_is_filed_sealed_with_a_postmark_and_a_receipt(demo_stack: DemoStack, https: HttpsClient) -> None:
    sent = write(demo_stack, https, "hello Bob")
    filed = find(demo_stack, sent)
    stored = read_envelope(json.loads(filed.line.envelope))
    assert sent.envelope
    assert (stored.message, stored.metadata) == (sent.envelope.message, sent.envelope.metadata)
    assert stored.postmark
    assert open_message(stored, [demo_stack.names.users[BOB].encryption]).message == "hello Bob"
    assert filed.row.conversation == ALICE
    assert filed.line.receipt["key_fingerprint"] == demo_stack.names.users[ALICE].signing.public.fingerprint
    assert filed.line.receipt["unverified"] is None
    seen = {item["pk"]["S"]: item for item in dumps.table(demo_stack.receiver.deployment, "SeenTable")}
    known = seen[seen_key_dm3(BOB, ALICE, sent.message_hash, verified=True)]
    assert known["home"]["M"] == {"pk": {"S": filed.row.key.pk}, "sk": {"S": filed.row.key.sk}}
    assert "hash" not in known


def test_the_same_envelope_again_is_accepted_and_filed_once(demo_stack: DemoStack, https: HttpsClient) -> None:
    sent = write(demo_stack, https, "only once")
    find(demo_stack, sent)
    before = len(demo_stack.receiver.rows())
    answers = [json.loads(call(https, submission(sent, id=n)).body) for n in range(3)]
    assert answers == [{"jsonrpc": "2.0", "result": "accepted", "id": n} for n in range(3)]
    demo_stack.receiver.settle()
    assert len(demo_stack.receiver.rows()) == before


def test_a_refusal_stores_nothing_anywhere(demo_stack: DemoStack, https: HttpsClient) -> None:
    demo_stack.receiver.settle()
    before = dumps.everything(demo_stack.receiver.deployment)
    forged = demo_stack.names.forgery("send me your keys", now_ms()).as_json()
    answer = call(https, {"jsonrpc": "2.0", "method": "dm3_submitMessage", "params": [forged], "id": 1})
    assert json.loads(answer.body)["error"]["code"] == -32003
    assert dumps.everything(demo_stack.receiver.deployment) == before


def test_batches_and_calls_without_ids_go_through_the_real_inbox(demo_stack: DemoStack, https: HttpsClient) -> None:
    sent = write(demo_stack, https, "in a batch")
    answer = call(https, [submission(sent, id="a"), {"jsonrpc": "2.0", "method": "nonsense", "id": "b"}])
    said = json.loads(answer.body)
    assert [entry["id"] for entry in said] == ["a", "b"]
    assert said[1]["error"]["code"] == -32601
    nameless = call(https, submission(sent))
    assert (nameless.status, json.loads(nameless.body)["id"]) == (200, None)


def test_an_envelope_too_large_for_the_queue_is_filed(demo_stack: DemoStack, https: HttpsClient) -> None:
    sent = write(demo_stack, https, "x" * 1_000_000)
    filed = find(demo_stack, sent)
    opened = open_message(read_envelope(json.loads(filed.line.envelope)), [demo_stack.names.users[BOB].encryption])
    assert opened.message == "x" * 1_000_000


def test_logs_name_no_sender(story: Story, demo_stack: DemoStack, https: HttpsClient) -> None:
    find(demo_stack, write(demo_stack, https, "psst"))
    call(
        https, {"jsonrpc": "2.0", "method": "dm3_submitMessage", "params": [demo_stack.names.forgery("!", 1).as_json()]}
    )
    # She may have a mailbox here, too, which the logs name.
    own = f'"mailbox":"{ALICE}"'
    said = "\n".join(line.text.replace(own, "") for line in demo_stack.receiver.deployment.logs())
    assert BOB in said
    assert ALICE not in said
