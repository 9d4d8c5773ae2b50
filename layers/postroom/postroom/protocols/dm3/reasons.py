"""Reasons of dm3: JSON-RPC calls, envelopes, profiles, messages, postmarks. HTTP answers 200 for most of them."""

from postroom.core.reason import Audience, Kind, Reason

RPC_NOT_A_REQUEST = Reason(
    "RpcNotARequest", Kind.REFUSAL, 200, Audience.DM3,
    "The JSON is no JSON-RPC 2.0 request.", "dm3 §2.4.3; JSON-RPC 2.0 §4", json_rpc=-32600,
)  # fmt: skip
RPC_WRONG_VERSION = Reason(
    "RpcWrongVersion", Kind.REFUSAL, 200, Audience.DM3,
    "The member jsonrpc must be the string 2.0.", "dm3 §2.3.1; JSON-RPC 2.0 §4", json_rpc=-32006,
)  # fmt: skip
RPC_UNKNOWN_METHOD = Reason(
    "RpcUnknownMethod", Kind.REFUSAL, 200, Audience.DM3,
    "There is no such method.", "dm3 §2.4.3; JSON-RPC 2.0 §5.1", json_rpc=-32601,
)  # fmt: skip
RPC_METHOD_NOT_OFFERED = Reason(
    "RpcMethodNotOffered", Kind.REFUSAL, 200, Audience.DM3,
    "This dm3 method is not offered here.", 'dm3 §2.3.1; decision "JSON-RPC"', json_rpc=-32004,
)  # fmt: skip
RPC_WRONG_PARAMS = Reason(
    "RpcWrongParams", Kind.REFUSAL, 200, Audience.DM3,
    "The method takes its parameters in another form.", "dm3 §2.4.3; JSON-RPC 2.0 §5.1", json_rpc=-32602,
)  # fmt: skip
RPC_BATCH_TOO_LONG = Reason(
    "RpcBatchTooLong", Kind.REFUSAL, 200, Audience.DM3,
    "The batch holds more requests than are answered at once.", 'dm3 §2.3.1; decision "JSON-RPC"', json_rpc=-32005,
)  # fmt: skip
ENVELOPE_INVALID = Reason(
    "EnvelopeInvalid", Kind.REFUSAL, 200, Audience.DM3,
    "The dm3 envelope does not have the members it must have, in the form they must have.",
    'dm3 §2.2.5, §2.2.6; decision "Versions"', json_rpc=-32000,
)  # fmt: skip
ENCRYPTION_SCHEME_UNKNOWN = Reason(
    "EncryptionSchemeUnknown", Kind.REFUSAL, 200, Audience.DM3,
    "The encryption scheme is not one that is known here.", 'dm3 §2.2.6; decision "Encryption"', json_rpc=-32000,
)  # fmt: skip
SEALED_VALUE_INVALID = Reason(
    "SealedValueInvalid", Kind.REFUSAL, 200, Audience.DM3,
    "A sealed value cannot be opened: it is malformed, not padded, or sealed to another key.",
    'dm3 §2.2.5; decision "Encryption"', json_rpc=-32000,
)  # fmt: skip
NAME_INVALID = Reason(
    "NameInvalid", Kind.REFUSAL, 200, Audience.DM3,
    "A name is none that ENSIP-15 normalises.", 'dm3 §2.2.7; decision "Profiles"', json_rpc=-32000,
)  # fmt: skip
RECEIVER_UNKNOWN = Reason(
    "ReceiverUnknown", Kind.REFUSAL, 200, Audience.DM3,
    "The receiver has no mailbox at this delivery service.",
    'dm3 §2.3.1; decisions "Order of checks" and "JSON-RPC"', json_rpc=-32001,
)  # fmt: skip
PROFILE_UNKNOWN = Reason(
    "ProfileUnknown", Kind.REFUSAL, 200, Audience.DM3 | Audience.OWNERS,
    "The name has no dm3 profile in the registry.", 'dm3 §2.1; decision "Order of checks"', json_rpc=-32002,
)  # fmt: skip
PROFILE_INVALID = Reason(
    "ProfileInvalid", Kind.REFUSAL, 200, Audience.DM3 | Audience.OWNERS,
    "The dm3 profile of the name is malformed.", 'dm3 §2.1.1, §2.1.2; decision "Profiles"', json_rpc=-32002,
)  # fmt: skip
PROFILE_URI_UNSUPPORTED = Reason(
    "ProfileUriUnsupported", Kind.REFUSAL, 200, Audience.DM3 | Audience.OWNERS,
    "The dm3 profile is published under a URI of a kind that is not read here.",
    'dm3 §2.2.1; decision "Profiles"', json_rpc=-32002,
)  # fmt: skip
SENDER_SIGNATURE_INVALID = Reason(
    "SenderSignatureInvalid", Kind.REFUSAL, 200, Audience.DM3 | Audience.OWNERS,
    "The signature is not one by the signing key of the sender's profile.",
    'dm3 §2.2.6; decisions "Signatures" and "Order of checks"', json_rpc=-32003,
)  # fmt: skip
MESSAGE_INVALID = Reason(
    "MessageInvalid", Kind.REFUSAL, 200, Audience.CLIENTS,
    "The dm3 message does not have the members it must have, in the form they must have.",
    'dm3 §2.2.2 - §2.2.4; decision "Message types"', json_rpc=-32000,
)  # fmt: skip
MESSAGE_TYPE_UNSUPPORTED = Reason(
    "MessageTypeUnsupported", Kind.REFUSAL, 200, Audience.CLIENTS,
    "The receiver does not take messages of this type.", "dm3 §2.3.3", json_rpc=-32000,
)  # fmt: skip
POSTMARK_INVALID = Reason(
    "PostmarkInvalid", Kind.REFUSAL, 200, Audience.CLIENTS,
    "The postmark does not fit the message, or is not signed by the delivery service.",
    'dm3 §2.2.8; decision "Postmarks"',
)  # fmt: skip
PROFILE_LOOKUP_FAILED = Reason(
    "ProfileLookupFailed", Kind.RETRY, 503, Audience.DM3 | Audience.OWNERS,
    "The dm3 profile of a name could not be looked up just now.",
    'dm3 §2.1; decisions "JSON-RPC" and "Acceptance"', json_rpc=-32002,
)  # fmt: skip
FILTER_RULE_UNCHECKED = Reason(
    "FilterRuleUnchecked", Kind.RETRY, 503, Audience.DM3,
    "The receiver's filter rules ask for what cannot be looked up here: a nonce or a balance.",
    'dm3 §2.2.1; decision "Profile extension"', json_rpc=-32002,
)  # fmt: skip
