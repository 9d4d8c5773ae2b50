"""Sending over dm3: a message is sealed, signed, and handed to the receiver's delivery service.

sender = Dm3Sender("alice.eth", keys, Profiles(registry, time.time), https)
sent = sender.send(Dm3Draft("bob.eth", "hello"))          # or: await sender.send_async(...)
sent.fate, sent.message_hash, sent.attempts

The rules are in `delivering`, which makes no request itself; the sender makes them, one way or the other.
"""

import asyncio
import time
from base64 import b64encode
from collections.abc import Callable, Generator, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Final
from urllib.parse import urlsplit

from postroom.client.dm3_answers import NoResultError, read_result
from postroom.client.sending import SendOutcome
from postroom.core.canonical import stringify
from postroom.core.errors import NotNowError, TheirError
from postroom.core.ijson import JsonValue
from postroom.core.reasons import TOO_LARGE
from postroom.core.steps import drive
from postroom.net.https import HttpsClient, HttpsResponse
from postroom.protocols.dm3.dialect import postmark_hash
from postroom.protocols.dm3.envelope import DeliveryInformation, Dm3Envelope, message_hash, write_envelope
from postroom.protocols.dm3.explain import ExplainedProfiles
from postroom.protocols.dm3.extension import check_sender, read_extension, read_size_limit
from postroom.protocols.dm3.jsonrpc import VERSION
from postroom.protocols.dm3.keys import UserKeys
from postroom.protocols.dm3.message import Attachment, Dm3Message, MessageMetadata, MessageType
from postroom.protocols.dm3.names import normalize
from postroom.protocols.dm3.profile import UserProfile
from postroom.protocols.dm3.reasons import MESSAGE_INVALID, MESSAGE_TYPE_UNSUPPORTED
from postroom.protocols.dm3.sealing import seal
from postroom.protocols.dm3.sign import sign_message

_DATA: Final = "data:"
_RPC_PATH: Final = "/rpc"


@dataclass(frozen=True, slots=True)
class Dm3Draft:
    """A message to `to`, before it is encrypted. Raises TheirError(MESSAGE_INVALID).

    `text`: UTF-8, possibly Markdown; None if the type needs none. `encodings`: the same text in other forms, each a
    data: URI beside it (dm3 §2.2.2). `reference`: the hash of the message that this one is about.
    `reply_delivery_instruction`: what every answer must return; `delivery_instruction`: what this answer returns.
    """

    to: str
    text: str | None
    type: MessageType = MessageType.NEW
    reference: str | None = None
    attachments: tuple[Attachment, ...] = ()
    encodings: tuple[str, ...] = ()
    reply_delivery_instruction: str | None = None
    delivery_instruction: str | None = None

    def __post_init__(self) -> None:
        if self.encodings and self.text is None:
            raise TheirError(MESSAGE_INVALID, "other encodings stand beside a text, and there is none")
        if any(not encoding.lower().startswith(_DATA) for encoding in self.encodings):
            raise TheirError(MESSAGE_INVALID, "another encoding of a text is not a data: URI")


def reply(
    original: Dm3Message,
    original_hash: str,
    text: str | None,
    *,
    type: MessageType = MessageType.REPLY,  # noqa: A002 - what it is called everywhere
    attachments: tuple[Attachment, ...] = (),
) -> Dm3Draft:
    """A reply to the sender of `original`, with its instruction for answers unchanged (dm3 §2.2.3).

    `original_hash`: lower-case hex SHA-256 of it as it was encrypted, as in `Opened.message_hash` and `Dm3Sent`.
    """
    metadata = original.metadata
    return Dm3Draft(
        metadata.sender,
        text,
        type,
        reference=original_hash,
        attachments=attachments,
        delivery_instruction=metadata.reply_delivery_instruction,
    )


def attach(data: bytes, media_type: str) -> Attachment:
    """A file as an attachment: a data: URI."""
    return Attachment(f"{_DATA}{media_type};base64,{b64encode(data).decode()}")


@dataclass(frozen=True, slots=True)
class Attempt:
    """The result of one delivery service; `service` is its name.

    `url`: where it was asked; empty if its profile was unavailable. `code`: of JSON-RPC; None if no answer had one.
    `reason`: machine code, the service's or ours. It may be empty, and so may `detail` if the message was accepted.
    """

    service: str
    url: str
    fate: SendOutcome
    detail: str = ""
    code: int | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Dm3Sent:
    """The result of sending a message: the delivery services that were asked, in order; the last one decided.

    `message`: as it was signed. `envelope`: the last one that was sent; None if the message was not encrypted.
    """

    message: Dm3Message
    envelope: Dm3Envelope | None
    attempts: tuple[Attempt, ...]

    @property
    def fate(self) -> SendOutcome:
        """Whether the message was accepted, refused for good, or may be sent again."""
        return self.attempts[-1].fate

    @property
    def message_hash(self) -> str:
        """The message's name in references: lower-case hex SHA-256 of the encrypted message; empty if it was not
        encrypted."""
        return message_hash(self.envelope) if self.envelope else ""


@dataclass(frozen=True, slots=True)
class SealedMessage:
    """A signed message, encrypted to its receiver: whoever keeps it can send the same again.

    `sealed`: the encrypted message. `receiver_key`: the key that it is encrypted to.
    """

    message: Dm3Message
    sealed: str
    receiver_key: bytes

    @property
    def message_hash(self) -> str:
        """The message's name in references, as that of `Dm3Sent`."""
        return postmark_hash(self.sealed)


@dataclass(frozen=True, slots=True)
class Post:
    """A request to send: JSON to be posted."""

    url: str
    body: bytes


Answer = HttpsResponse | NotNowError
"""The answer to a request, or why there is none."""
Delivering = Generator[Post, Answer, Dm3Sent]


def delivering(draft: Dm3Draft, sender: str, keys: UserKeys, profiles: ExplainedProfiles, now_ms: int) -> Delivering:
    """Deliver a message: yields requests, is sent the result of each, and returns the result of the delivery.

    The next delivery service is tried only if the one before is unavailable, never after a refusal (decision
    "Fallback"). Each gets the same encrypted message: a receiver that gets two copies can see that they are one
    message.

    Raises TheirError: NAME_INVALID, MESSAGE_INVALID, and for the receiver PROFILE_UNKNOWN, PROFILE_INVALID,
    PROFILE_URI_UNSUPPORTED; NotNowError(PROFILE_LOOKUP_FAILED).
    """
    delivery = DeliveryInformation(normalize(draft.to), normalize(sender), draft.delivery_instruction)
    receiver = profiles.user(delivery.to)
    return (yield from _deliver(_sign(draft, delivery, keys, now_ms), delivery, receiver, keys, profiles))


def sign_draft(draft: Dm3Draft, sender: str, keys: UserKeys, now_ms: int) -> Dm3Message:
    """Sign a message without sending it. Raises TheirError: NAME_INVALID, MESSAGE_INVALID."""
    delivery = DeliveryInformation(normalize(draft.to), normalize(sender), draft.delivery_instruction)
    return _sign(draft, delivery, keys, now_ms)


def seal_message(message: Dm3Message, profiles: ExplainedProfiles) -> SealedMessage:
    """Encrypt a signed message to its receiver without sending it. Raises as `delivering` does."""
    receiver_key = profiles.user(normalize(message.metadata.to)).encryption_key
    return SealedMessage(message, seal(message.encode(), receiver_key), receiver_key)


def delivering_sealed(sealed: SealedMessage, keys: UserKeys, profiles: ExplainedProfiles) -> Delivering:
    """Deliver a message as it was sealed, to its receiver, who sees that several copies are one message.

    If the receiver's profile has another key by now, it is encrypted again, and has another message hash. Raises as
    `delivering` does.
    """
    metadata = sealed.message.metadata
    delivery = DeliveryInformation(normalize(metadata.to), normalize(metadata.sender))
    receiver = profiles.user(delivery.to)
    fits = receiver.encryption_key == sealed.receiver_key
    return (
        yield from _deliver(
            sealed.message, delivery, receiver, keys, profiles, sealed_message=sealed.sealed if fits else None
        )
    )


def delivering_again(
    message: Dm3Message, delivery_instruction: str | None, keys: UserKeys, profiles: ExplainedProfiles
) -> Delivering:
    """Deliver a message of the owner of these keys once more, as it was signed, to its receiver (dm3 §2.2.3).

    It is encrypted again, so it has another message hash. `delivery_instruction`: as in its `Dm3Draft`. Raises as
    `delivering` does.
    """
    metadata = message.metadata
    delivery = DeliveryInformation(normalize(metadata.to), normalize(metadata.sender), delivery_instruction)
    return (yield from _deliver(message, delivery, profiles.user(delivery.to), keys, profiles))


def _deliver(
    message: Dm3Message,
    delivery: DeliveryInformation,
    receiver: UserProfile,
    keys: UserKeys,
    profiles: ExplainedProfiles,
    *,
    sealed_message: str | None = None,
) -> Delivering:
    envelope: Dm3Envelope | None = None
    attempts: list[Attempt] = []
    for name in receiver.delivery_services:
        url = ""
        try:
            service = profiles.service(name)
            url, extension = yield from _reach(service_urls(service.url), delivery)
            size_limit = yield from _ask(url, extension, delivery, message)
            envelope = write_envelope(
                message,
                delivery=delivery,
                receiver_key=receiver.encryption_key,
                service_key=service.encryption_key,
                signing=keys.signing,
                sealed_message=envelope.message if envelope else sealed_message,
            )
            _check_size(envelope, size_limit)
            yield from _call(url, "dm3_submitMessage", envelope.as_json())
        except NoResultError as error:
            attempts.append(Attempt(name, error.url, error.fate, error.detail, error.code, error.reason))
            if error.is_unavailable:
                continue
        except (TheirError, NotNowError) as error:
            # A delivery service that cannot be found is unavailable; one that answered with a refusal is not.
            fate = SendOutcome.REFUSED if url else SendOutcome.NOT_NOW
            attempts.append(Attempt(name, url, fate, error.detail or error.reason.sentence, reason=str(error.reason)))
            if not url:
                continue
        else:
            attempts.append(Attempt(name, url, SendOutcome.TAKEN))
        break
    return Dm3Sent(message, envelope, tuple(attempts))


def _sign(draft: Dm3Draft, delivery: DeliveryInformation, keys: UserKeys, now_ms: int) -> Dm3Message:
    metadata = MessageMetadata(
        to=delivery.to,
        sender=delivery.sender,
        timestamp_ms=now_ms,
        type_name=draft.type,
        reference_message_hash=draft.reference,
        reply_delivery_instruction=draft.reply_delivery_instruction,
    )
    attachments = (*map(Attachment, draft.encodings), *draft.attachments)
    return sign_message(draft.text, metadata, keys.signing, attachments=attachments or None)


def service_urls(url: str) -> tuple[str, ...]:
    """Where calls are posted, by the `url` of a delivery service's profile: the next one if one does not know JSON-RPC.

    The text says that the URL is used (dm3 §2.2.1). The reference's clients post to /rpc below it (axios: slashes at
    its end are dropped). A URL with /rpc, a query or a port is complete.
    """
    parts = urlsplit(url)
    is_complete = parts.path.endswith(_RPC_PATH) or bool(parts.query) or ":" in parts.netloc.rpartition("]")[2]
    return (url,) if is_complete else (url, url.rstrip("/") + _RPC_PATH)


def _reach(urls: Sequence[str], delivery: DeliveryInformation) -> Generator[Post, Answer, tuple[str, JsonValue]]:
    """The first URL that answers JSON-RPC, and the receiver's profile extension. Raises NoResultError."""
    for url in urls[:-1]:
        try:
            return url, (yield from _call(url, "dm3_getProfileExtension", delivery.to))
        except NoResultError as error:
            if error.is_rpc:
                raise
    return urls[-1], (yield from _call(urls[-1], "dm3_getProfileExtension", delivery.to))


def _ask(
    url: str, extension_known: JsonValue, delivery: DeliveryInformation, message: Dm3Message
) -> Generator[Post, Answer, int | None]:
    """Ask what the service accepts, and check it and what the receiver accepts; returns the largest envelope.

    Raises the reason that forbids sending.
    """
    properties_known = yield from _call(url, "dm3_getDeliveryServiceProperties")
    try:
        extension, size_limit = read_extension(extension_known), read_size_limit(properties_known)
    except TheirError as error:
        # Nobody refused the message: the delivery service's answer makes no sense.
        raise NoResultError(SendOutcome.NOT_NOW, error.detail, url=url, reason=str(error.reason)) from None
    wanted = str(message.metadata.type)
    if wanted not in extension.message_types:
        taken = ", ".join(extension.message_types)
        raise TheirError(MESSAGE_TYPE_UNSUPPORTED, f"{delivery.to} does not accept {wanted}, only {taken}")
    check_sender(extension.rules, delivery.sender)
    return size_limit


def _check_size(envelope: Dm3Envelope, size_limit: int | None) -> None:
    size = len(envelope.encode().encode())
    if size_limit is not None and size > size_limit:
        raise TheirError(TOO_LARGE, f"the envelope has {size} bytes; the delivery service takes at most {size_limit}")


def _call(url: str, method: str, *params: JsonValue) -> Generator[Post, Answer, JsonValue]:
    """The result of a call. Raises NoResultError."""
    body = stringify({"jsonrpc": VERSION, "id": 1, "method": method, "params": list(params)})
    return read_result(url, (yield Post(url, body)))


@dataclass(frozen=True, slots=True, eq=False)
class Dm3Sender:
    """A sender of dm3 messages. `name`: the name whose profile has these keys. `clock`: epoch seconds."""

    name: str
    keys: UserKeys
    profiles: ExplainedProfiles
    https: HttpsClient
    _: KW_ONLY
    clock: Callable[[], float] = time.time

    def send(self, draft: Dm3Draft) -> Dm3Sent:
        """Deliver a message. Raises as `delivering` does."""
        return drive(self._begin(draft), self._make)

    def send_again(self, message: Dm3Message, delivery_instruction: str | None = None) -> Dm3Sent:
        """Deliver a message that was sent before once more, to its receiver. Raises as `delivering_again` does."""
        return drive(delivering_again(message, delivery_instruction, self.keys, self.profiles), self._make)

    def sign(self, draft: Dm3Draft, at_ms: int | None = None) -> Dm3Message:
        """Sign a message without sending it. `at_ms`: its time; None: now. Raises as `sign_draft` does."""
        return sign_draft(draft, self.name, self.keys, int(self.clock() * 1000) if at_ms is None else at_ms)

    def seal(self, message: Dm3Message) -> SealedMessage:
        """Encrypt a signed message to its receiver without sending it. Raises as `delivering` does."""
        return seal_message(message, self.profiles)

    def send_sealed(self, sealed: SealedMessage) -> Dm3Sent:
        """Deliver a message as it was sealed. Raises as `delivering_sealed` does."""
        return drive(delivering_sealed(sealed, self.keys, self.profiles), self._make)

    async def send_async(self, draft: Dm3Draft) -> Dm3Sent:
        """The same in a thread, because look-ups, encryption and requests take time.

        If cancelled, no further request is sent.
        """
        ended = False

        def make(post: Post) -> Answer:
            if ended:
                raise asyncio.CancelledError
            return self._make(post)

        try:
            return await asyncio.to_thread(drive, self._begin(draft), make)
        finally:
            ended = True

    def _begin(self, draft: Dm3Draft) -> Delivering:
        return delivering(draft, self.name, self.keys, self.profiles, int(self.clock() * 1000))

    def _make(self, post: Post) -> Answer:
        try:
            return self.https.post(post.url, post.body, "application/json")
        except NotNowError as error:
            return error
