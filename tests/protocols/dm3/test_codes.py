"""The JSON-RPC code that a reason is answered with (dm3 §2.3.1, §2.4.3; decision "JSON-RPC")."""

from postroom.core.reason import Audience, Kind
from postroom.protocols.dm3.codes import TEXTS, code_of
from postroom.protocols.dm3.reasons import POSTMARK_INVALID
from postroom.reasons import REASONS, reason_of

KNOWN = {
    -32700: {"NotJson", "NotIJson"},
    -32600: {"RpcNotARequest", "WrongContentEncoding"},
    -32601: {"RpcUnknownMethod"},
    -32602: {"RpcWrongParams"},
    -32000: {
        "EnvelopeInvalid", "EncryptionSchemeUnknown", "SealedValueInvalid", "NameInvalid", "MessageInvalid",
        "MessageTypeUnsupported",
    },
    -32001: {"ReceiverUnknown"},
    -32002: {
        "ProfileUnknown", "ProfileInvalid", "ProfileNotProven", "ProfileUriUnsupported", "ProfileLookupFailed",
        "FilterRuleUnchecked",
    },
    -32003: {"SenderSignatureInvalid"},
    -32004: {"RpcMethodNotOffered"},
    -32005: {"RpcBatchTooLong", "MailboxFull", "RpcTooManyUnknownReceivers"},
    -32006: {"RpcWrongVersion"},
    -32010: {"SenderNotWanted"},
    -32011: {"TooLarge"},
}  # fmt: skip


TOLD = {reason_of(code): number for number, codes in KNOWN.items() for code in codes}


def test_each_dm3_reason_has_the_code_of_the_specification() -> None:
    assert {reason: code_of(reason) for reason in TOLD} == TOLD


def test_temporary_errors_have_the_code_unavailable() -> None:
    passing = [reason for reason in REASONS if reason.kind is Kind.RETRY]
    assert {reason: code_of(reason) for reason in passing} == dict.fromkeys(passing, -32002)


def test_only_reasons_without_a_code_are_internal_errors() -> None:
    ours = {reason for reason in REASONS if code_of(reason) == -32603}
    assert ours == {reason for reason in REASONS if reason not in TOLD and reason.kind is not Kind.RETRY}


def test_every_dm3_refusal_has_its_own_code() -> None:
    # HTTP says 200 for them: the code is all that says no. Nobody but a receiver's client judges postmarks.
    silent = {
        reason
        for reason in REASONS
        if reason.status == 200 and code_of(reason) == -32603
        if reason.audience is not Audience.DCP and not reason.section.startswith("DCP:")
    }
    assert silent == {POSTMARK_INVALID}
    assert POSTMARK_INVALID.audience is Audience.CLIENTS


def test_every_code_has_the_text_of_the_specification() -> None:
    assert {code: TEXTS[code] for code in sorted(TEXTS)} == {
        -32700: "Parse error",
        -32603: "Internal error",
        -32602: "Invalid params",
        -32601: "Method not found",
        -32600: "Invalid Request",
        -32011: "Too big",
        -32010: "Spam",
        -32006: "JSON-RPC version not supported",
        -32005: "Limit exceeded",
        -32004: "Method not supported",
        -32003: "Unauthorized",
        -32002: "Resource unavailable",
        -32001: "Resource not found",
        -32000: "Invalid input",
    }
    assert {code_of(reason) for reason in REASONS} == set(TEXTS)
