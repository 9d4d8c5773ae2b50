"""The scenes of the demo. Each scene acts on real deployments, waits for the outcome, and checks what is stored.

A scene raises OurError if the outcome is not the expected one.
"""

import json
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Final

from postroom.client import SendOutcome
from postroom.client.dm3 import Dm3Draft, Dm3Sender
from postroom.core.ijson import JsonValue
from postroom.core.reason import Reason
from postroom.core.reasons import SENDER_NOT_WANTED
from postroom.crypto.rsa_ed25519 import PrivateKey
from postroom.demo import archive, chats, cheques, compaction, false_answers, found_names, owners, webhooks
from postroom.demo.checks import DemoRow, Say, expect
from postroom.demo.deployment import DemoDeployment, envelope_of, until
from postroom.demo.lookups import why_not_believed
from postroom.demo.names import ALICE, BOB, MALLORY
from postroom.demo.stack import BUFFER, DM3_HOST, ORDER, RECEIVER, SENDER, SUBJECT, Correspondent, DemoStack
from postroom.demo.submissions import evidence_of
from postroom.local import pollyweb
from postroom.local.patience import PATIENCE_SECONDS
from postroom.net.https import HttpsClient, HttpsResponse
from postroom.protocols.dm3.explain import explain
from postroom.protocols.dm3.reasons import SENDER_SIGNATURE_INVALID
from postroom.protocols.nlweb.reasons import (
    CORRELATION_REUSED,
    DNSSEC_BOGUS,
    KEY_LOOKUP_FAILED,
    NOT_OURS,
    SENDER_NOT_SIGNED,
    SIGNATURE_INVALID,
    TIMESTAMP_TOO_OLD,
    UNEXPECTED_SUBJECT,
    UNSUPPORTED_VERSION,
)
from postroom.protocols.nlweb.schema import HANDSHAKE, NLWEB
from postroom.protocols.nlweb.sign import Draft, sign
from postroom.storage.layout import RowKey
from postroom.storage.mail.reader import Filed
from postroom.storage.mail.register import Row

KEY_FLOOR_SECONDS: Final = 2.5
_ROTATIONS: Final = 10
"""A key that was fetched within the last two seconds is not fetched again; the scene waits until it is older."""


class Story:
    """Plays the scenes of the demo. `say`: receives a line for each step, as it happens."""

    def __init__(self, demo: DemoStack, say: Say) -> None:
        self.demo = demo
        self._say = say
        # Scenes post to the edge without DNS, because one of them switches the resolver off.
        self._https = HttpsClient(
            lambda _host: ["127.0.0.1"],
            port=demo.stack.edge.port,
            allow_private=True,
            ca_file=str(demo.stack.authority.pem),
            connect_timeout=PATIENCE_SECONDS,
            total_timeout=PATIENCE_SECONDS,
        )
        self._first: dict[str, JsonValue] = {}
        self._known_rows: set[RowKey] = {row.key for row in demo.receiver.rows()}

    def scenes(self) -> Iterator[tuple[str, Callable[[], list[DemoRow]]]]:
        """The title and the method of each scene, in order."""
        yield "A signed message is queued, verified and filed", self.filed
        yield "A forged signature: discarded, and Feedback goes to the sender's buffer", self.forged
        yield "The same message again, and its Correlation used for another", self.replayed
        yield "Other messages that are not accepted, each with its reason", self.refused
        yield "The sender rotates its key while the old one is cached", self.rotated
        yield "A synchronous request, a manifest, and a wallet", self.answered
        yield "An unmodified pollyweb client, in the dialect of 2026", self.polly
        yield "The resolver is switched off for a moment", self.waited
        yield "alice.eth writes to bob.eth: encrypted, signed, postmarked (dm3)", self.sealed
        yield "bob.eth reads his mail over HTTPS, on two devices", self.picked_up
        yield "bob.eth keeps an encrypted archive: he searches it, and exports it to a third device", self.kept
        yield "An order arrives, and the owner's webhook is notified", self.order_is_notified
        yield "bob.eth writes cheques for Wes, which Jack carries (DCP)", self.presented
        yield "People whom no operator has written down: behind a gateway, in DNS, in IPFS", self.strangers
        yield "Endpoints of the chain lie: one of three, then two", self.endpoints_lie
        yield "A gateway's answers that its contract does not believe", self.gateway_answers_are_wrong
        yield "alice.eth, bob.eth and carol.team.eth chat in a group, from which mallory.eth was removed", self.chatted
        yield (
            "The nightly job: unread messages move into a chunk (Spark), and the owner sees no difference",
            self.compacted,
        )
        yield "alice.eth changes her keys on chain while the old ones are cached", self.keys_are_changed
        yield "The newcomer has made a transaction", self.newcomer_is_let_in

    def filed(self) -> list[DemoRow]:
        """Scene 1: a signed message is queued, verified and filed."""
        who = self.demo.sender
        self._say(f"{who.domain} publishes the key {who.key.public.fingerprint} at {_key_name(who)}")
        envelope = self.envelope(who, {"Text": "Good morning"})
        self._first = envelope
        status, answer = self.post(envelope)
        expect(status == 200 and answer["Status"] == "Queued", "the message is queued", answer)
        self._say(f"posted to https://{NLWEB.host(RECEIVER)}/inbox: {status} {answer['Status']}")
        message = self.find_filed(self.demo.receiver, RECEIVER, envelope)
        for line in describe(message):
            self._say(line)
        return [DemoRow("1", "a signed message", "200 Queued", "filed")]

    def forged(self) -> list[DemoRow]:
        """Scene 2: a forged message is discarded, and the sender's buffer gets Feedback."""
        envelope = self.forgery()
        status, _ = self.post(envelope)
        row = self.discarded(SIGNATURE_INVALID)
        self._say(f"posted: {status}; discarded: {row.discarded}")
        feedback = self.feedback(envelope)
        reported = envelope_of(feedback)
        expect(
            reported["Header"]["From"] == RECEIVER and reported["Header"]["To"] == BUFFER,
            "the Feedback goes from the receiver to the buffer",
            reported,
        )
        expect(reported["Body"]["Code"] == str(SIGNATURE_INVALID), "the Feedback has the reason", reported)
        self._say(f"Feedback in {BUFFER}'s deployment, in the mailbox of {SENDER}, under its Correlation:")
        self._say(f"  {reported['Body']['Status']}: {reported['Body']['Reason']} ({reported['Body']['Code']})")
        for line in describe(feedback):
            self._say(line)
        return [
            DemoRow("2", "a forged signature", f"{status} Queued", "SignatureInvalid, Feedback filed at the buffer")
        ]

    def replayed(self) -> list[DemoRow]:
        """Scene 3: a message is sent again, and its Correlation is used for another message."""
        if not self._first:
            self.filed()
        before = len(self.demo.receiver.rows())
        status, _ = self.post(self._first)
        self.demo.receiver.settle()
        expect(len(self.demo.receiver.rows()) == before, "a replay adds no row", before)
        self._say(f"the first message once more: {status}, acknowledged, not executed")
        header = self._first["Header"]
        assert isinstance(header, dict)  # noqa: S101 - for the type checker
        other = self.envelope(self.demo.sender, {"Text": "Good evening"}, correlation=str(header["Correlation"]))
        self.post(other)
        row = self.discarded(CORRELATION_REUSED)
        self._say(f"the same Correlation with other content: discarded: {row.discarded}")
        return [
            DemoRow("3", "the same message again", f"{status} Queued", "acknowledged, not executed"),
            DemoRow("3", "its Correlation, other content", "200 Queued", "CorrelationReused"),
        ]

    def refused(self) -> list[DemoRow]:
        """Scene 4: messages that the inbox refuses or the worker discards, each with its reason."""
        demo, now = self.demo, now_ms()
        by_worker: list[tuple[str, Correspondent, str, Reason]] = [
            ("a domain without DNSSEC", demo.unsigned, SUBJECT, SENDER_NOT_SIGNED),
            ("a zone with broken signatures", demo.bogus, SUBJECT, DNSSEC_BOGUS),
            ("an unknown subject", demo.sender, "Dance@Host", UNEXPECTED_SUBJECT),
        ]
        by_inbox: list[tuple[str, dict[str, JsonValue], Reason]] = [
            (
                "a Timestamp of two days ago",
                self.envelope(demo.sender, at=now - 2 * 86_400_000),
                TIMESTAMP_TOO_OLD,
            ),
            ("To another domain", self.envelope(demo.sender, to="elsewhere.example"), NOT_OURS),
            (
                "another major version",
                {**self.envelope(demo.sender), HANDSHAKE: "nlweb.org/MSG:2.0"},
                UNSUPPORTED_VERSION,
            ),
        ]
        rows = []
        for what, envelope, reason in by_inbox:
            status, answer = self.post(envelope)
            expect(answer.get("reason") == str(reason), f"{what} is refused as {reason}", answer)
            self._say(f"{what}: {status} {answer['reason']}")
            rows.append(DemoRow("4", what, f"{status} {answer['reason']}", "refused, nothing stored"))
        for what, who, subject, reason in by_worker:
            status, _ = self.post(self.envelope(who, subject=subject))
            row = self.discarded(reason)
            self._say(f"{what}: {status}, then discarded: {row.discarded}")
            if who is not demo.sender:
                for line in why_not_believed(demo.stack, _key_name(who)):
                    self._say(f"  {line}")
            rows.append(DemoRow("4", what, f"{status} Queued", str(reason)))
        return rows

    def rotated(self) -> list[DemoRow]:
        """Scene 5: the sender rotates its key, and the cached one is fetched again once."""
        demo, name = self.demo, _key_name(self.demo.sender)
        # On a busy machine, a question whose answer is late is sent again.
        for _ in range(_ROTATIONS):
            time.sleep(KEY_FLOOR_SECONDS)
            before = self._key_queries(name)
            demo.sender = replace(demo.sender, key=PrivateKey.generate("ed25519"))
            demo.publish(demo.sender)
            fingerprint = demo.sender.key.public.fingerprint
            self._say(f"{SENDER} publishes {fingerprint} under the same selector, and signs with it")
            envelope = self.envelope(demo.sender)
            status, _ = self.post(envelope)
            message = self.find_filed(demo.receiver, RECEIVER, envelope)
            expect(
                message.line.receipt["key_fingerprint"] == fingerprint,
                "the message is verified with the new key",
                message,
            )
            looked_up = self._key_queries(name) - before
            if looked_up == 1:
                break
        expect(looked_up == 1, "the key was fetched exactly once", looked_up)
        self._say(f"filed, verified with the new key; DNS queries for the key record meanwhile: {looked_up}")
        return [DemoRow("5", "signed with a rotated key", f"{status} Queued", "filed, after exactly one refetch")]

    def answered(self) -> list[DemoRow]:
        """Scene 6: a synchronous request, a manifest, and a message from a wallet."""
        demo = self.demo
        request = self.envelope(demo.sender, {"Domain": RECEIVER}, subject="Identity@Graph")
        status, reply = self.post(request)
        expect(status == 200 and reply.get("Domain") == RECEIVER, "the request is answered in the HTTP response", reply)
        self._say(f"Identity@Graph: {status} {json.dumps(reply)}")
        answer = self._https.get(f"https://{NLWEB.host(SENDER)}/manifest", "application/yaml")
        expect(
            answer.status == 200 and f"Feedback: {BUFFER}".encode() in answer.body,
            "the manifest names the buffer",
            answer.body,
        )
        self._say(f"GET https://{NLWEB.host(SENDER)}/manifest: {answer.status}, it names {BUFFER}")
        wallet = Correspondent(str(uuid.uuid4()), "", PrivateKey.generate("ed25519"))
        demo.receiver.operators.put_wallet(wallet.domain, wallet.key.public.spki())
        envelope = self.envelope(wallet)
        posted, _ = self.post(envelope)
        message = self.find_filed(demo.receiver, RECEIVER, envelope)
        expect(
            message.line.receipt["evidence"] == "pre-shared",
            "the message of a wallet is verified with the pre-shared key",
            message,
        )
        self._say(f"a wallet ({wallet.domain}): filed, verified with its pre-shared key, without DNS")
        return [
            DemoRow("6", "Identity@Graph, synchronous", f"{status} {json.dumps(reply)}", "answered in the response"),
            DemoRow("6", "GET /manifest", f"{answer.status}", f"Feedback: {BUFFER}"),
            DemoRow("6", "a wallet's message", f"{posted} Queued", "filed, verified with its pre-shared key"),
        ]

    def polly(self) -> list[DemoRow]:
        """Scene 7: an unmodified pollyweb client sends a message."""
        who, stack = self.demo.polly, self.demo.stack
        sent = pollyweb.send(
            sender=who.domain,
            key_pem=who.key.to_pem(),
            receiver=RECEIVER,
            subject=SUBJECT,
            body={"Text": "Hello from 2026"},
            dns_address=stack.dns.address,
            https_port=stack.edge.port,
            ca=stack.authority.pem,
        )
        expect(sent.status == 200, "its message is queued", sent.answer)
        message = self.find_filed(self.demo.receiver, RECEIVER, sent.envelope)
        self._say(f"Domain({who.domain!r}).send(…) posted to {who.dialect.inbox_url(RECEIVER)}: {sent.status}; filed")
        for line in describe(message):
            self._say(line)
        dialect = message.line.receipt["dialect"]
        return [DemoRow("7", "pollyweb's own message", f"{sent.status} Queued", f"filed ({dialect})")]

    def waited(self) -> list[DemoRow]:
        """Scene 8: the resolver is off, and the message is retried until it answers."""
        demo, envelope = self.demo, self.envelope(self.demo.quiet)
        before = len(demo.receiver.rows())
        demo.stack.dns.pause()
        try:
            status, _ = self.post(envelope)
            until(
                "the message waits in the retry queue",
                lambda: demo.receiver.waiting("RetryQueueUrl") or None,
            )
            expect(len(demo.receiver.rows()) == before, "no verdict is stored without an answer from DNS", before)
            self._say(f"posted: {status}; no answer from DNS: the message waits, nothing is discarded")
        finally:
            demo.stack.dns.resume()
        self._say("the resolver answers again")
        self.find_filed(demo.receiver, RECEIVER, envelope)
        self._say("filed")
        return [DemoRow("8", "while the resolver is off", f"{status} Queued", "waits; filed when it answers again")]

    def sealed(self) -> list[DemoRow]:
        """Scene 9: an encrypted dm3 message is filed, a forgery is refused, and a blocked sender is told."""
        names = self.demo.names
        bob, url = names.users[BOB], f"https://{DM3_HOST}/rpc"
        self.demo.receiver.storage.chain_endpoints.put(false_answers.three_endpoints(self.demo))
        self._say(f"{ALICE} is in ENS; the operator stores three endpoints of its chain, two of which must agree")
        before = {filed.row.key for filed in self.demo.receiver.filed(BOB)}
        self.write_to_bob("Good morning, Bob")
        self._say(f"{ALICE} encrypts it to {BOB}'s key, signs it, and posts it to {url}: accepted")
        filed = until(
            "the message is filed",
            lambda: next((f for f in self.demo.receiver.filed(BOB) if f.row.key not in before), None),
        )
        evidence = evidence_of(filed.line.receipt)
        expect(evidence.get("registry") == "ens", f"{ALICE} was found in ENS", evidence)
        expect(ALICE not in filed.line.envelope, "the stored envelope does not show the sender", filed.line.envelope)
        opened = explain(filed.line.envelope.encode(), bob, names.profiles)
        message = opened.message
        expect(message is not None and message.message == "Good morning, Bob", "Bob reads the message", message)
        for check in opened.checks:
            self._say(f"  {'✓' if check.ok else '✗'} {check.name}: {check.saw}")
        expect(opened.reason is None, "every signature and the postmark are valid", opened.reason)
        request = {"jsonrpc": "2.0", "id": 1, "method": "dm3_submitMessage"}
        forged = request | {"params": [names.forgery("Send me your keys", now_ms()).as_json()]}
        answer = json.loads(self._https.post(url, json.dumps(forged).encode(), "application/json").body)
        error = answer["error"]
        expect(error["data"]["reason"] == str(SENDER_SIGNATURE_INVALID), "the forgery is refused", answer)
        self._say(f"{MALLORY} writes in the name of {ALICE}: {error['code']} {error['data']['reason']}")
        [blocked] = (
            Dm3Sender(MALLORY, names.users[MALLORY], names.profiles, self._https).send(Dm3Draft(BOB, "?")).attempts
        )
        expect(blocked.reason == str(SENDER_NOT_WANTED), "a blocked sender is told the reason", blocked)
        self._say(f"{MALLORY}, whom {BOB} blocks, writes in her own name: {blocked.reason}, before anything is sent")
        return [
            DemoRow(
                "9", "an encrypted message (dm3)", "accepted", "filed; its receiver opens it, every signature is valid"
            ),
            DemoRow(
                "9",
                "a message in alice.eth's name",
                f"{error['code']} {error['data']['reason']}",
                "refused, nothing stored",
            ),
            *found_names.newcomer_is_refused(self.demo, self._https, self._say),
        ]

    def picked_up(self) -> list[DemoRow]:
        """Scene 10: Bob reads his mail on two devices."""
        return owners.two_devices(self.demo, self.write_to_bob, self._say)

    def kept(self) -> list[DemoRow]:
        """Scene 11: Bob archives, searches and exports his mail."""
        return archive.kept_at_home(self.demo, self.write_to_bob, self._say)

    def order_is_notified(self) -> list[DemoRow]:
        """Scene 12: an owner's webhook is notified of an order."""

        def order() -> dict[str, JsonValue]:
            sent = self.envelope(self.demo.sender, {"Sku": "blue folder", "Count": 2}, subject=ORDER)
            self.post(sent)
            return sent

        return webhooks.notified_of_an_order(self.demo, order, self._say)

    def presented(self) -> list[DemoRow]:
        """Scene 13: Bob authorizes somebody else to list his messages, once."""
        return cheques.cheques_for_wes(self.demo, self.write_to_bob, self._say)

    def strangers(self) -> list[DemoRow]:
        """Scene 14: people whose names are in ENS or DNS write to Bob."""
        return found_names.strangers_write(self.demo, self._https, self._say)

    def endpoints_lie(self) -> list[DemoRow]:
        """Scene 15: one endpoint of three lies, then two."""
        return false_answers.endpoints_lie(self.demo, self._https, self._say)

    def gateway_answers_are_wrong(self) -> list[DemoRow]:
        """Scene 16: a gateway's answers are not believed."""
        return false_answers.gateway_answers_are_wrong(self.demo, self._https, self._say)

    def chatted(self) -> list[DemoRow]:
        """Scene 17: a chat in a group, and what somebody tries who was removed from it."""
        return chats.chat_in_a_group(self.demo, self._https, self._say)

    def compacted(self) -> list[DemoRow]:
        """Scene 18: the nightly job compacts unread messages."""

        def write() -> None:
            sent = self.envelope(self.demo.sender, {"Text": "Good night"})
            self.post(sent)
            self.find_filed(self.demo.receiver, RECEIVER, sent)

        return compaction.compacted(self.demo.receiver, SENDER, write, self._say)

    def keys_are_changed(self) -> list[DemoRow]:
        """Scene 19: Alice changes her keys on chain."""
        return found_names.keys_are_changed(self.demo, self._https, self._say)

    def newcomer_is_let_in(self) -> list[DemoRow]:
        """Scene 20: somebody whose account has made a transaction is let in."""
        return found_names.newcomer_is_let_in(self.demo, self._https, self._say)

    # --- actions and observations that the scenes share ------------------------------------------------------

    def write_to_bob(self, text: str) -> None:
        """Send a message from alice.eth to bob.eth until it is accepted."""
        names = self.demo.names
        alice = Dm3Sender(ALICE, names.users[ALICE], names.profiles, self._https)
        # The inbox has one second for a look-up; on a busy machine the first one may take longer.
        until("the message is accepted", lambda: alice.send(Dm3Draft(BOB, text)).fate is SendOutcome.TAKEN or None)

    def post(self, envelope: Mapping[str, JsonValue], url: str = "") -> tuple[int, dict[str, str]]:
        """Post an envelope; returns the status and the JSON of the response.

        Once more, if the key was not found in time: the inbox has one second for it, and this machine may be busy.
        """
        body = json.dumps(envelope, ensure_ascii=False).encode()

        def attempt() -> HttpsResponse | None:
            answer = self._https.post(url or NLWEB.inbox_url(RECEIVER), body, "application/json")
            return None if json.loads(answer.body).get("reason") == str(KEY_LOOKUP_FAILED) else answer

        answer = until("the inbox finds the key in time", attempt)
        return answer.status, json.loads(answer.body)

    def forgery(self) -> dict[str, JsonValue]:
        """An envelope in the sender's name, signed with another key."""
        return self.envelope(replace(self.demo.sender, key=PrivateKey.generate("rsa")), {"Text": "Transfer everything"})

    def find_filed(self, deployment: DemoDeployment, mailbox: str, envelope: Mapping[str, JsonValue]) -> Filed:
        """Wait until a message with this envelope's Hash is filed."""

        def look() -> Filed | None:
            return next((m for m in deployment.filed(mailbox) if envelope_of(m)["Hash"] == envelope["Hash"]), None)

        return until("the message is filed", look)

    def discarded(self, reason: Reason) -> Row:
        """Wait until the receiver has discarded the last message. Raises OurError unless it is for `reason`."""
        known = self._known_rows
        row = until(
            f"the message is discarded as {reason}",
            lambda: next((r for r in self._rows_of_the_domain() if r.key not in known and r.discarded), None),
        )
        expect(row.discarded is reason, f"discarded as {reason}", row.why)
        known.add(row.key)
        return row

    def _rows_of_the_domain(self) -> list[Row]:
        return [row for row in self.demo.receiver.rows() if row.key.mailbox == RECEIVER]

    def feedback(self, envelope: Mapping[str, JsonValue]) -> Filed:
        """Wait until Feedback about this envelope is filed in the buffer's deployment."""
        header = envelope["Header"]
        assert isinstance(header, dict)  # noqa: S101 - for the type checker
        conversation = f"feedback:{header['Correlation']}"
        return until("Feedback arrives", lambda: next(iter(self.demo.buffer.filed(SENDER, conversation)), None))

    def envelope(
        self,
        who: Correspondent,
        body: JsonValue = None,
        *,
        to: str = RECEIVER,
        subject: str = SUBJECT,
        correlation: str = "",
        at: int | None = None,
    ) -> dict[str, JsonValue]:
        """A signed envelope. `at`: its Timestamp in epoch milliseconds; None: now."""
        draft = Draft(
            sender=who.domain,
            receiver=to,
            subject=subject,
            correlation=correlation or str(uuid.uuid4()),
            timestamp_ms=now_ms() if at is None else at,
            body={} if body is None else body,
            selector=who.selector or None,
            dialect=who.dialect,
        )
        return sign(draft, who.key)

    def _key_queries(self, name: str) -> int:
        return sum(
            count
            for (queried, rdtype), count in self.demo.stack.dns.queries.items()
            if str(queried).rstrip(".") == name and str(rdtype) == "TXT"
        )


def describe(message: Filed) -> list[str]:
    """A filed message in lines: sender, receiver, times, and how it was verified."""
    header, receipt = envelope_of(message)["Header"], message.line.receipt
    verified = f"{receipt['key_algorithm']} {receipt['key_fingerprint']}"
    return [
        f"  from {header['From']} to {header['To']}: {header['Subject']} ({header['Correlation']})",
        f"  received {_clock(receipt['received_at_ms'])}, verified {_clock(receipt['verified_at_ms'])} by {verified}",
        f"  proven by {_chain(receipt['evidence'])}",
    ]


def _chain(evidence: object) -> str:
    if not isinstance(evidence, dict):
        return str(evidence)
    return " → ".join(link["zone"] for link in evidence["chain"])


def _clock(at_ms: object) -> str:
    return time.strftime("%H:%M:%S", time.gmtime(int(str(at_ms)) / 1000)) + f".{int(str(at_ms)) % 1000:03d}"


def _key_name(who: Correspondent) -> str:
    return who.dialect.key_name(who.domain, who.selector)


def now_ms() -> int:
    """The current time in epoch milliseconds."""
    return int(time.time() * 1000)
