"""Reasons of DCP: signed messages, sessions, requests and their authorization. Most are told in a signed answer."""

from postroom.core.reason import CLIENTS, DCP, refusal, retry

# fmt: off
DCP_MESSAGE_INVALID = refusal("DcpMessageInvalid", 400, DCP, "DCP: Ethereum messages; Message Grammar",
    "The bytes are not a signed message of DCP.")
DCP_SIGNATURE_INVALID = refusal("DcpSignatureInvalid", 401, DCP, "DCP: Message Authentication Algorithm",
    "The message is not signed by the key of its owner.")
DCP_BODY_INVALID = refusal("DcpBodyInvalid", 200, DCP, "DCP: Message Grammar; Error Codes: EINVAL",
    "The body is none of the messages of DCP, or has a malformed member.")
DCP_VALIDITY_INVALID = refusal("DcpValidityInvalid", 200, DCP, "DCP: Validity; Error Codes: EINVAL",
    "The request has no time and stamp of its validity, or they have another form.")
DCP_EXPIRED = refusal("DcpExpired", 200, DCP, "DCP: Validity; Error Codes: EEXPIRED",
    "The request has expired.")
DCP_TIME_TRAVEL = refusal("DcpTimeTravel", 200, DCP, "DCP: Validity; Error Codes: ETIMETRAVEL",
    "The time of the request is in the future.")
DCP_VERSION_UNSUPPORTED = refusal("DcpVersionUnsupported", 200, DCP, "DCP: connect; Error Codes: EVERSION",
    "This version of the protocol is not supported.")
DCP_ID_MISSING = refusal("DcpIdMissing", 422, DCP, "DCP: Message Grammar",
    "The body has no id, so that no answer can name the message.")
DCP_RESPONSE_UNEXPECTED = refusal("DcpResponseUnexpected", 422, DCP, "DCP: Message Receipt Implementation Details",
    "The message is a response to nothing that was requested.")
DCP_RESPONSE_INVALID = refusal("DcpResponseInvalid", 422, DCP, "DCP: Response Authentication Algorithm",
    "The message is a response with a malformed member, so that nobody knows what became of the request.")
DCP_SESSION_FOREIGN = refusal("DcpSessionForeign", 200, DCP, "DCP: Message Receipt Implementation Details",
    "The owner of the message opened no session with this dcpsid here.")
DCP_SESSION_OVER = refusal("DcpSessionOver", 200, DCP, "DCP: Message Authentication Algorithm; Error Codes: EINVAL",
    "The session was closed, or was not used for too long.")
DCP_NONCE_INVALID = refusal("DcpNonceInvalid", 200, DCP, "DCP: Message Authentication Algorithm; Error Codes: EINVAL",
    "The nonce is not the last one that was given in this session.")
DCP_ID_REUSED = refusal("DcpIdReused", 200, DCP, "DCP: Connection.Request; Error Codes: EINVAL",
    "The sender of the request sent another one with the same id.")
DCP_DUPLICATE = refusal("DcpDuplicate", 200, DCP, "DCP: Validity; Error Codes: EDUP",
    "A request with the same stamp was received before.")
DCP_AUTHORIZATION_REVOKED = refusal("DcpAuthorizationRevoked", 401, DCP, 'decision "Revocation"',
    "The owner has signed out since the date of the request, or less than a minute before it.")
ANSWER_TOO_LARGE = refusal("AnswerTooLarge", 200, DCP, 'decision "The mailbox as a resource"',
    "The answer is larger than a message may be; request fewer messages, or a range.")
DCP_OPERATION_UNKNOWN = refusal("DcpOperationUnknown", 200, DCP, "DCP: Error Codes: EINVAL",
    "The operation is unknown, or cannot be requested at this point.")
DCP_NO_ROUTER = refusal("DcpNoRouter", 200, DCP, "DCP: v3; Error Codes: ENOV3",
    "Routes of version 3 of the protocol are not served here.")
DCP_NOT_AUTHORIZED = refusal("DcpNotAuthorized", 200, CLIENTS, "DCP: Request Authentication Algorithm",
    "A resource in allow has not signed the payload, or allow has none.")
WATCH_REPLACED = retry("WatchReplaced", 503, DCP, 'decision "WebSockets"',
    "Another watch has the place of this one; unless it is of the same session, send one again after nine minutes.")
DCP_TARGET_STARTING = retry("DcpTargetStarting", 503, DCP, "DCP: Target Startup Notes",
    "The target does not know yet which requests it received before it was started.")
DCP_STORE_FULL = retry("DcpStoreFull", 503, DCP, "DCP: Target Startup Notes",
    "The target may have forgotten a request of this date, because it was sent too many: date another one now.")
