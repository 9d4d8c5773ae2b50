"""Reasons that belong to no protocol: routes, media types, JSON, quotas, and faults on our side."""

from postroom.core.reason import Audience, Kind, Reason

NO_SUCH_ROUTE = Reason(
    "NoSuchRoute", Kind.REFUSAL, 404, Audience.NLWEB | Audience.DM3 | Audience.OWNERS,
    "There is nothing at this address; messages are posted to /inbox.", 'decision "Answers"',
)  # fmt: skip
METHOD_NOT_ALLOWED = Reason(
    "MethodNotAllowed", Kind.REFUSAL, 405, Audience.NLWEB | Audience.DM3 | Audience.OWNERS,
    "This address does not answer that HTTP method.", "RFC 9110 §15.5.6",
)  # fmt: skip
WRONG_CONTENT_TYPE = Reason(
    "WrongContentType", Kind.REFUSAL, 415, Audience.NLWEB | Audience.OWNERS,
    "A message is posted as application/json in UTF-8.", 'decision "Answers"',
)  # fmt: skip
WRONG_CONTENT_ENCODING = Reason(
    "WrongContentEncoding", Kind.REFUSAL, 415, Audience.NLWEB,
    "The request body must not be compressed.", 'decisions "Answers" and "No compression"',
)  # fmt: skip
TOO_LARGE = Reason(
    "TooLarge", Kind.REFUSAL, 413, Audience.NLWEB | Audience.DM3 | Audience.OWNERS,
    "The message is larger than this receiver takes.", 'decision "Answers"', json_rpc=-32011,
)  # fmt: skip
NOT_JSON = Reason(
    "NotJson", Kind.REFUSAL, 400, Audience.NLWEB | Audience.DM3 | Audience.OWNERS,
    "The request body is not a JSON text in UTF-8.", "RFC 8259 §2, §8.1", json_rpc=-32700,
)  # fmt: skip
NOT_I_JSON = Reason(
    "NotIJson", Kind.REFUSAL, 400, Audience.NLWEB | Audience.DM3 | Audience.OWNERS,
    "The request body is JSON, but not I-JSON: member names must be unique, numbers must fit an IEEE double, "
    "strings must be valid Unicode, nesting and the number of values are limited.",
    "RFC 7493 §2", json_rpc=-32700,
)  # fmt: skip
MAILBOX_FULL = Reason(
    "MailboxFull", Kind.REFUSAL, 507, Audience.NLWEB | Audience.DM3,
    "The mailbox holds as much as it may; there is room again when its owner has picked mail up.",
    "RFC 4918 §11.5", json_rpc=-32005,
)  # fmt: skip
SENDER_NOT_WANTED = Reason(
    "SenderNotWanted", Kind.DISCARD, 403, Audience.DM3,
    "The receiver's filter rules do not let this sender in.",
    'dm3 §2.2.1; decisions "Order of checks", "Profile extension" and "Subjects"', json_rpc=-32010,
)  # fmt: skip
TOO_LATE = Reason(
    "TooLate", Kind.DISCARD, 504, Audience.NLWEB,
    "The message could not be judged within the time a message may wait.",
    'store protocol: Times; decision "DNSSEC required"',
)  # fmt: skip
UNDELIVERABLE = Reason(
    "Undeliverable", Kind.DISCARD, 500, Audience.NLWEB | Audience.OWNERS,
    "The message could not be processed, though it was tried many times.", "store protocol: Operation",
)  # fmt: skip
NOT_QUEUED = Reason(
    "NotQueued", Kind.RETRY, 503, Audience.NLWEB | Audience.DM3,
    "The message could not be taken in just now; send the same message again.",
    'NLWeb: how do receiver domains reply to incoming messages; decision "Answers"', json_rpc=-32002,
)  # fmt: skip
STORE_UNAVAILABLE = Reason(
    "StoreUnavailable", Kind.RETRY, 503, Audience.NLWEB | Audience.DM3 | Audience.OWNERS,
    "The store did not take a write just now.", "store protocol: Steps", json_rpc=-32002,
)  # fmt: skip
OUTBOUND_FAILED = Reason(
    "OutboundFailed", Kind.RETRY, 503, Audience.OWNERS,
    "The other domain's host could not be reached, or did not take the message.",
    "NLWeb: how can senders know if receivers discarded messages",
)  # fmt: skip
SIGNING_KEY_UNAVAILABLE = Reason(
    "SigningKeyUnavailable", Kind.RETRY, 503, Audience.DM3 | Audience.OWNERS,
    "Our own signing key could not be read just now.", "design: Settings", json_rpc=-32002,
)  # fmt: skip
