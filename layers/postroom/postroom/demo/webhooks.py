"""The demo's scene of notifications: an owner's webhook is verified and notified of an order."""

import json
from base64 import b64encode
from collections.abc import Callable
from http import HTTPStatus
from typing import Any, Final

from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from postroom.client import Mailbox
from postroom.core.ijson import JsonValue
from postroom.crypto.rsa_ed25519 import PrivateKey
from postroom.demo.checks import DemoRow, Say, expect
from postroom.demo.deployment import until
from postroom.demo.stack import ORDERS, RECEIVER, DemoStack
from postroom.local.gateway import GatewayRequest, GatewayResponse
from postroom.local.patience import PATIENCE_SECONDS
from postroom.protocols.nlweb.schema import NLWEB

HOOK: Final = "hook.example"


class WebhookReceiver:
    """A webhook receiver as an owner would write it. `secret`: the target's; `received`: what it verified."""

    def __init__(self) -> None:
        self.secret = ""
        self.received: list[dict[str, Any]] = []

    def __call__(self, request: GatewayRequest) -> GatewayResponse:
        """Accept requests that are signed with the secret (Standard Webhooks); refuse others with 401."""
        try:
            self.received.append(Webhook(self.secret).verify(request.body, dict(request.headers)))
        except WebhookVerificationError:
            return GatewayResponse(HTTPStatus.UNAUTHORIZED, (), b"")
        return GatewayResponse(HTTPStatus.NO_CONTENT, (), b"")

    def first(self, kind: str) -> dict[str, Any] | None:
        """The first notification of a type."""
        return next((each for each in self.received if each["type"] == kind), None)


def notified_of_an_order(demo: DemoStack, order: Callable[[], dict[str, JsonValue]], say: Say) -> list[DemoRow]:
    """A webhook is verified, and notified once when an order arrives. `order`: sends one."""
    key, receiver = PrivateKey.generate("ed25519"), WebhookReceiver()
    demo.receiver.mailboxes.set_keys(ORDERS, [b64encode(key.public.spki()).decode()])
    demo.stack.tree.put(HOOK, "@ IN A 127.0.0.1\n")
    demo.stack.edge.serve_handler(HOOK, receiver)
    edge = ("127.0.0.1", demo.stack.edge.port)
    url = f"https://{NLWEB.host(RECEIVER)}"
    try:
        with Mailbox(
            url, ORDERS, key, ca_file=demo.stack.authority.pem, connect=edge, timeout=PATIENCE_SECONDS
        ) as mailbox:
            for old in mailbox.targets():
                mailbox.remove_target(old.id)
            target = mailbox.add_target("webhook", f"https://{HOOK}/mail")
            receiver.secret = target.secret
            code = until("the webhook receives the code", lambda: receiver.first("postroom.verify"))["data"]["code"]
            say(f"the owner of {ORDERS} adds https://{HOOK}/mail, which is sent a code, and confirms the code")
            verified = mailbox.verify_target(target.id, code)
            expect(verified.state == "active", "the target is active", verified)
            sent = order()
            waiting = until("the webhook is notified", lambda: receiver.first("postroom.waiting"))
            expect(
                waiting["data"] == {"mailbox": ORDERS}, "the notification names the mailbox and nothing else", waiting
            )
            say(f"an order arrives; the webhook verifies the signature, and reads: {json.dumps(waiting['data'])}")
            [message] = [it for it in mailbox.unread() if it.json == sent]
            message.acknowledge()
            say(f"so the owner reads and acknowledges it: {message.partner}, {sent['Body']}")
    finally:
        demo.stack.edge.drop_host(HOOK)
    return [DemoRow("12", "an order", "200 Queued", "the owner's webhook was notified; read and acknowledged")]
