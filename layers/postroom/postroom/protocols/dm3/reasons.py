"""Reasons of dm3: JSON-RPC calls, envelopes, profiles, messages, postmarks. HTTP answers 200 for most of them."""

from postroom.core.reason import CLIENTS, DM3, OWNERS, refusal, retry

# fmt: off
RPC_NOT_A_REQUEST = refusal("RpcNotARequest", 200, DM3, "dm3 §2.4.3; JSON-RPC 2.0 §4",
    "The JSON is not a JSON-RPC 2.0 request.", json_rpc=-32600)
RPC_WRONG_VERSION = refusal("RpcWrongVersion", 200, DM3, "dm3 §2.3.1; JSON-RPC 2.0 §4",
    "The member jsonrpc must be the string 2.0.", json_rpc=-32006)
RPC_UNKNOWN_METHOD = refusal("RpcUnknownMethod", 200, DM3, "dm3 §2.4.3; JSON-RPC 2.0 §5.1",
    "There is no such method.", json_rpc=-32601)
RPC_METHOD_NOT_OFFERED = refusal("RpcMethodNotOffered", 200, DM3, 'dm3 §2.3.1; decision "JSON-RPC"',
    "This dm3 method is not offered here.", json_rpc=-32004)
RPC_WRONG_PARAMS = refusal("RpcWrongParams", 200, DM3, "dm3 §2.4.3; JSON-RPC 2.0 §5.1",
    "The parameters do not have the form that the method requires.", json_rpc=-32602)
RPC_BATCH_TOO_LONG = refusal("RpcBatchTooLong", 200, DM3, 'dm3 §2.3.1; decision "JSON-RPC"',
    "The batch contains too many requests.", json_rpc=-32005)
RPC_TOO_MANY_UNKNOWN_RECEIVERS = refusal("RpcTooManyUnknownReceivers", 200, DM3, 'dm3 §2.3.1; decision "JSON-RPC"',
    "The body named too many receivers without a mailbox at this delivery service; send its other calls in another "
    "one.", json_rpc=-32005)
ENVELOPE_INVALID = refusal("EnvelopeInvalid", 200, DM3, 'dm3 §2.2.5, §2.2.6; decision "Versions"',
    "The dm3 envelope has missing or malformed members.", json_rpc=-32000)
ENCRYPTION_SCHEME_UNKNOWN = refusal("EncryptionSchemeUnknown", 200, DM3, 'dm3 §2.2.6; decision "Encryption"',
    "The encryption scheme is unknown here.", json_rpc=-32000)
SEALED_VALUE_INVALID = refusal("SealedValueInvalid", 200, DM3, 'dm3 §2.2.5; decision "Encryption"',
    "An encrypted value cannot be opened: it is malformed, not padded, or encrypted to another key.", json_rpc=-32000)
NAME_INVALID = refusal("NameInvalid", 200, DM3, 'dm3 §2.2.7; decision "Profiles"',
    "A name is not valid by ENSIP-15.", json_rpc=-32000)
RECEIVER_UNKNOWN = refusal("ReceiverUnknown", 200, DM3, 'dm3 §2.3.1; decisions "Order of checks" and "JSON-RPC"',
    "The receiver has no mailbox at this delivery service.", json_rpc=-32001)
PROFILE_UNKNOWN = refusal("ProfileUnknown", 200, DM3 | OWNERS, 'dm3 §2.1; decision "Order of checks"',
    "The name has no dm3 profile in the registry.", json_rpc=-32002)
PROFILE_INVALID = refusal("ProfileInvalid", 200, DM3 | OWNERS, 'dm3 §2.1.1, §2.1.2; decision "Profiles"',
    "The dm3 profile of the name is malformed.", json_rpc=-32002)
PROFILE_NOT_PROVEN = refusal("ProfileNotProven", 200, DM3 | OWNERS, 'RFC 4035 §5; decision "Registries"',
    "DNSSEC validation of the dm3 records of the name failed.", json_rpc=-32002)
PROFILE_URI_UNSUPPORTED = refusal("ProfileUriUnsupported", 200, DM3 | OWNERS, 'dm3 §2.2.1; decision "Profiles"',
    "The dm3 profile is published under a kind of URI that is not supported here.", json_rpc=-32002)
SENDER_SIGNATURE_INVALID = refusal("SenderSignatureInvalid", 200, DM3 | OWNERS,
    'dm3 §2.2.6; decisions "Signatures" and "Order of checks"',
    "The signature is not by the signing key of the sender's profile.", json_rpc=-32003)
MESSAGE_INVALID = refusal("MessageInvalid", 200, CLIENTS, 'dm3 §2.2.2 - §2.2.4; decision "Message types"',
    "The dm3 message has missing or malformed members.", json_rpc=-32000)
MESSAGE_TYPE_UNSUPPORTED = refusal("MessageTypeUnsupported", 200, CLIENTS, "dm3 §2.3.3",
    "The receiver does not accept messages of this type.", json_rpc=-32000)
POSTMARK_INVALID = refusal("PostmarkInvalid", 200, CLIENTS, 'dm3 §2.2.8; decision "Postmarks"',
    "The postmark does not fit the message, or is not signed by the delivery service.")
PROFILE_LOOKUP_FAILED = retry("ProfileLookupFailed", 503, DM3 | OWNERS,
    'dm3 §2.1; decisions "JSON-RPC" and "Acceptance"',
    "The dm3 profile of a name could not be looked up now.", json_rpc=-32002)
FILTER_RULE_UNCHECKED = retry("FilterRuleUnchecked", 503, DM3, 'dm3 §2.2.1; decision "Profile extension"',
    "The receiver's filter rules need a nonce or a balance, which could not be looked up now.", json_rpc=-32002)
