"""Reasons of DCP: signed messages, sessions, requests and their authorization. Most are told in a signed answer."""

from postroom.core.reason import DCP, refusal

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
