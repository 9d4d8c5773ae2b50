"""The real handler of functions/worker in this process, with fakes of AWS and DNS that store nothing.

So memory that grows is the worker's. Requests pass through boto3 and are answered instead of being sent; keys are
looked up with complete DNSSEC proofs, from answers that are signed when they are requested.
"""

import gc
import importlib
import io
import json
import logging
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from typing import Any, Final
from unittest.mock import patch
from uuid import UUID

import boto3
import botocore.session
import dns.dnssec
import dns.message
import dns.name
import dns.rrset
from aws_lambda_powertools.utilities.typing import LambdaContext
from benchmarks.lambdas import ENVIRONMENT, FUNCTIONS
from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from dns.rdatatype import TXT

from postroom.crypto.rsa_ed25519 import PrivateKey
from postroom.local.answers import answer
from postroom.local.zones import ZoneTree
from postroom.names.dns import Answer, Ask, Question
from postroom.pipeline.claim_details import NlwebDetails
from postroom.pipeline.claims import Claim, pack
from postroom.protocols.nlweb.key_record import record_text
from postroom.protocols.nlweb.sign import Draft, sign
from postroom.protocols.nlweb.subjects import SubjectRule, Treatment
from postroom.runtime.name_parts import NameParts
from postroom.storage.layout import row_key

BATCH: Final = 100
_RECEIVER: Final = "receiver.example"
_ZONE: Final = "senders"
_RULE: Final = SubjectRule("*@Host", Treatment.MAILBOX, _RECEIVER)
_BODY: Final = "x" * 1500
"""Makes an envelope of about 2 kB."""

Sender = Callable[[int], str]
"""The domain that sends the message with this number."""


class Senders:
    """The domains below one signed zone: `s<number>.senders` has a key, `n<number>.senders` has none."""

    def __init__(self) -> None:
        self.key = PrivateKey.generate("ed25519")
        self._tree = ZoneTree()
        self._tree.put(_ZONE, "")
        self._text = json.dumps(record_text(self.key.public))
        self.anchors = self._tree.anchor_text

    def asking(self, _seconds: float) -> Ask:
        """The same interface as `Resolvers.asking`."""
        return self._ask

    def _ask(self, question: Question) -> Answer:
        message = dns.message.QueryMessage()
        if question.rdtype == TXT and question.name.labels[2].startswith(b"s"):
            message.answer = self._record(question.name)
            return Answer.read(message.to_wire())
        found = answer(self._tree.zones(), *question)
        message.set_rcode(found.rcode)
        message.answer, message.authority = found.answer, found.authority
        return Answer.read(message.to_wire())

    def _record(self, name: dns.name.Name) -> list[dns.rrset.RRset]:
        records, zone = dns.rrset.from_text(name, 300, "IN", "TXT", self._text), dns.name.from_text(_ZONE)
        private, public = self._tree.key(zone)
        now = int(time.time())
        signature = dns.dnssec.sign(
            records, private, zone, public, inception=now - 3600, expiration=now + 86_400, verify=False
        )
        return [records, dns.rrset.from_rdata(name, 300, signature)]


class LoneWorker:
    """Processes messages in batches, as Lambda delivers them."""

    def __init__(self, handler: Callable[[Mapping[str, object], LambdaContext], object], senders: Senders) -> None:
        self._handler = handler
        self._senders = senders
        self._numbers = count(1)

    def work(self, messages: int, sender: Sender) -> None:
        """Process `messages` more messages. Raises AssertionError if one is returned for another delivery."""
        for _ in range(messages // BATCH):
            records = [self._record(next(self._numbers), sender) for _ in range(BATCH)]
            assert self._handler({"Records": records}, LambdaContext()) == {"batchItemFailures": []}

    def _record(self, number: int, sender: Sender) -> dict[str, object]:
        now_ms, claim_id = int(time.time() * 1000), f"{number:032x}"
        draft = Draft(sender(number), _RECEIVER, "Notify@Host", str(UUID(int=number)), now_ms, _BODY)
        envelope = json.dumps(sign(draft, self._senders.key))
        row = row_key(_RECEIVER, 1, now_ms, claim_id)
        claim = Claim(claim_id, now_ms, _RECEIVER, row, "192.0.2.1", envelope, NlwebDetails(_RULE))
        return {
            "messageId": claim_id,
            "body": pack(claim, _no_large_claims),
            "attributes": {"ApproximateReceiveCount": "1"},
            # In that of claims, a slow machine has no time for so many look-ups.
            "eventSourceARN": "arn:aws:sqs:eu-west-1:123456789012:look_ups",
        }


@contextmanager
def lone_worker() -> Iterator[LoneWorker]:
    """A worker after a cold start, without its output."""
    senders = Senders()
    session = botocore.session.get_session()
    session.register("before-send", _answer)
    environment = {**ENVIRONMENT, "TRUST_ANCHORS": senders.anchors.strip()}
    with (
        patch.dict(os.environ, environment, clear=True),
        patch.object(boto3, "DEFAULT_SESSION", boto3.Session(botocore_session=session)),
        patch.object(NameParts, "resolvers", senders),
        patch.object(sys, "path", [str(FUNCTIONS / "worker"), *sys.path]),
        patch.object(sys, "stdout", _Nowhere()),
    ):
        sys.modules.pop("app", None)
        logging.Logger.manager.loggerDict.pop(environment["POWERTOOLS_SERVICE_NAME"], None)
        yield LoneWorker(importlib.import_module("app").handler, senders)
        del sys.modules["app"]
        gc.unfreeze()  # what the worker froze at its start


class _Nowhere(io.TextIOBase):
    """Discards logs and metrics."""

    def write(self, text: str, /) -> int:
        return len(text)


class _Raw(io.BytesIO):
    """The body of a response, as from urllib3."""

    def stream(self, **_options: object) -> Iterator[bytes]:
        yield self.read()


def _answer(request: AWSPreparedRequest, **_more: object) -> AWSResponse:
    """The response of AWS: there was no item before, and each write succeeds."""
    target = request.headers.get("X-Amz-Target", b"").decode()
    said: dict[str, Any] = {}
    if target.endswith(".SendMessage"):
        said = {"MessageId": "m", "MD5OfMessageBody": "m"}
    elif target.endswith(".Query"):
        said = {"Items": [], "Count": 0}
    body = json.dumps(said).encode() if target else b""
    return AWSResponse(request.url, 200, {"Content-Length": str(len(body)), "ETag": '"e"'}, _Raw(body))


def _no_large_claims(name: str, _data: bytes) -> None:
    raise AssertionError(f"{name} is too large for the queue")
