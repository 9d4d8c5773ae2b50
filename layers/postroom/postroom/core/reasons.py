"""Reasons that belong to no protocol: routes, media types, JSON, quotas, and faults on our side."""

from postroom.core.reason import DM3, NLWEB, OWNERS, discard, refusal, retry

# fmt: off
NO_SUCH_ROUTE = refusal("NoSuchRoute", 404, NLWEB | DM3 | OWNERS, 'decision "Answers"',
    "There is nothing at this path; messages are posted to /inbox.")
METHOD_NOT_ALLOWED = refusal("MethodNotAllowed", 405, NLWEB | DM3 | OWNERS, "RFC 9110 §15.5.6",
    "This path does not support that HTTP method.")
WRONG_CONTENT_TYPE = refusal("WrongContentType", 415, NLWEB | OWNERS, 'decision "Answers"',
    "A message must be posted as application/json in UTF-8.")
WRONG_CONTENT_ENCODING = refusal("WrongContentEncoding", 415, NLWEB | DM3 | OWNERS,
    'decisions "Answers" and "No compression"', "The request body must not be compressed.", json_rpc=-32600)
TOO_LARGE = refusal("TooLarge", 413, NLWEB | DM3 | OWNERS, 'decision "Answers"',
    "The message is larger than this receiver accepts.", json_rpc=-32011)
NOT_JSON = refusal("NotJson", 400, NLWEB | DM3 | OWNERS, "RFC 8259 §2, §8.1",
    "The request body is not a JSON text in UTF-8.", json_rpc=-32700)
NOT_I_JSON = refusal("NotIJson", 400, NLWEB | DM3 | OWNERS, "RFC 7493 §2",
    "The request body is JSON, but not I-JSON, or above our limits: member names must be unique, integers exact as "
    "IEEE doubles, and strings valid Unicode; nesting and the number of values are limited.", json_rpc=-32700)
MAILBOX_FULL = refusal("MailboxFull", 507, NLWEB | DM3, "RFC 4918 §11.5",
    "The mailbox is full until its owner has acknowledged messages.", json_rpc=-32005)
SENDER_NOT_WANTED = discard("SenderNotWanted", 200, DM3,
    'dm3 §2.2.1; decisions "Order of checks", "Profile extension" and "Subjects"',
    "The receiver's filter rules exclude this sender.", json_rpc=-32010)
TOO_LATE = discard("TooLate", 504, NLWEB, 'store protocol: Times; decision "DNSSEC required"',
    "The message could not be verified within the longest time that a message may wait.")
UNDELIVERABLE = discard("Undeliverable", 500, NLWEB | OWNERS, "store protocol: Operation",
    "The message could not be processed after many attempts.")
NOT_QUEUED = retry("NotQueued", 503, NLWEB | DM3,
    'NLWeb: how do receiver domains reply to incoming messages; decision "Answers"',
    "The message could not be accepted now; send the same message again.", json_rpc=-32002)
STORE_UNAVAILABLE = retry("StoreUnavailable", 503, NLWEB | DM3 | OWNERS, "store protocol: Steps",
    "The store could not be used now.", json_rpc=-32002)
TOO_MANY_LOOK_UPS = retry("TooManyLookUps", 503, NLWEB | DM3 | OWNERS, 'decisions "Answers" and "JSON-RPC"',
    "Too many names are being looked up for other requests now; send the same request again.", json_rpc=-32002)
OUTBOUND_FAILED = retry("OutboundFailed", 503, OWNERS, "NLWeb: how can senders know if receivers discarded messages",
    "The other domain's host could not be reached, or did not accept the message.")
SIGNING_KEY_UNAVAILABLE = retry("SigningKeyUnavailable", 503, DM3 | OWNERS, "design: Settings",
    "Our own signing key could not be read now.", json_rpc=-32002)
