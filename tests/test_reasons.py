"""The vocabulary: every reason is documented, used, and of one piece."""

import ast
import re
from pathlib import Path

import pytest

from postroom.reasons import Kind, Reason, reason_of

ROOT = Path(__file__).parent.parent
DOCUMENT = ROOT / "docs" / "reasons.md"
HEADINGS = {
    Kind.REFUSAL: "Refusals: said to the sender's face at the door; nothing is stored, no Feedback follows",
    Kind.DISCARD: "Discards: final; the sender's buffer is told once, or a synchronous request is answered so",
    Kind.RETRY: "Retries: could not be found out or done now; the message waits, or the caller comes back",
}


def table() -> str:
    """docs/reasons.md as it follows from the enum: `python tests/test_reasons.py` writes it."""
    lines = [
        "# Reasons",
        "",
        "The one vocabulary of the house (`postroom.reasons`). The code stands in the member `reason` of a problem",
        "document, in `Code` of a Feedback, in logs and metrics. The status is that of an answer at the door; a",
        "discard has one for synchronous requests.",
    ]
    for kind, heading in HEADINGS.items():
        lines += ["", f"## {heading}", "", "| Code | Status | Sentence | Section |", "|---|---|---|---|"]
        lines += [
            f"| `{reason}` | {reason.status} | {reason.sentence} | {reason.section} |"
            for reason in Reason
            if reason.kind is kind
        ]
    return "\n".join(lines) + "\n"


def used_outside_the_vocabulary() -> set[str]:
    """Members that stand as `Reason.X` somewhere in the library or the functions."""
    used: set[str] = set()
    for folder in (ROOT / "layers" / "postroom" / "postroom", ROOT / "functions"):
        for path in folder.rglob("*.py"):
            if path.name == "reasons.py":
                continue
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "Reason":
                    used.add(node.attr)
    return used


AT_THE_COUNTER = {
    Reason.NOT_A_REQUEST,
    Reason.NO_MAILBOX_NAME,
    Reason.CHALLENGE_INVALID,
    Reason.NOT_THE_OWNER,
    Reason.TOKEN_INVALID,
    Reason.ANOTHERS_MAILBOX,
    Reason.OPENING_NOT_OFFERED,
    Reason.OPENING_REFUSED,
    Reason.CURSOR_INVALID,
    Reason.MESSAGE_UNKNOWN,
    Reason.RANGE_UNSATISFIABLE,
    Reason.CHANGED_MEANWHILE,
    Reason.MATCH_NEEDED,
    Reason.SETTING_INVALID,
    Reason.SUBJECT_OF_OPERATOR,
    Reason.NOT_A_SENDER,
    Reason.TOKEN_REUSED,
    Reason.NOT_SENT,
    Reason.NOTIFICATION_NOT_OFFERED,
    Reason.TARGET_INVALID,
    Reason.TARGET_EXISTS,
    Reason.TOO_MANY_TARGETS,
    Reason.TARGET_UNKNOWN,
    Reason.CODE_WRONG,
    Reason.CONTAINER_UNKNOWN,
    Reason.PART_UNKNOWN,
    Reason.CONTAINER_TOO_LARGE,
    Reason.STORAGE_FULL,
    Reason.TOO_MANY_REQUESTS,
    Reason.COUNTER_CLOSED,
    Reason.MESSAGE_UNREADABLE,
}
"""What only owners are told, or whoever says to be one."""
USED = used_outside_the_vocabulary()


def test_every_reason_is_given_somewhere() -> None:
    assert sorted(Reason.__members__.keys() - USED) == []


def test_no_reason_is_given_that_is_none() -> None:
    assert sorted(USED - Reason.__members__.keys()) == []


def test_the_code_is_the_name_in_camel_case() -> None:
    misses = [
        f"{reason.name} has the code {reason}"
        for reason in Reason
        if not re.fullmatch(r"(?:[A-Z][a-z]*)+", str(reason))
        or str(reason) != "".join(part.capitalize() for part in reason.name.split("_"))
    ]
    assert misses == []


def test_no_two_reasons_share_a_code_or_a_sentence() -> None:
    # An Enum makes the second of two equal values a silent alias of the first.
    assert len(Reason.__members__) == len(list(Reason))
    assert len({str(reason) for reason in Reason}) == len(list(Reason))
    assert len({reason.sentence for reason in Reason}) == len(list(Reason))


def test_every_reason_has_a_sentence_for_people_and_a_section() -> None:
    misses = [
        *(
            f"{reason}: {reason.sentence!r} is no sentence for people that can stand in a table"
            for reason in Reason
            if not re.fullmatch(r"[A-Z][^|]*\.", reason.sentence)
        ),
        *(
            f"{reason}: {reason.section!r} names no section of a specification"
            for reason in Reason
            if "|" in reason.section or not re.search(r"NLWeb|RFC \d{4}|store protocol|design|dm3", reason.section)
        ),
    ]
    assert misses == []


def statuses(reason: Reason) -> set[int]:
    """What the status of a reason may be."""
    if reason in AT_THE_COUNTER:
        return {*range(400, 500), 503, 507}
    if reason.kind is Kind.REFUSAL and "dm3" in reason.section:
        return {200}  # as every answer of JSON-RPC
    if reason is Reason.MAILBOX_FULL:
        return {507}  # the message is good, and may be sent again
    if reason.kind is Kind.REFUSAL:
        return {*range(400, 500)} - {401}  # the door asks for no credentials
    if reason.kind is Kind.RETRY:
        return {503}
    return {*range(400, 600)} - {503}  # a discard is final


def test_the_status_fits_the_kind() -> None:
    misses = [
        f"{reason}, a {reason.kind}, is answered {reason.status}"
        for reason in Reason
        if reason.status not in statuses(reason)
    ]
    assert misses == []


@pytest.mark.parametrize(
    ("status", "reasons"),
    [
        (400, {Reason.NOT_JSON, Reason.NOT_I_JSON}),
        (413, {Reason.TOO_LARGE}),
        (415, {Reason.WRONG_CONTENT_TYPE, Reason.WRONG_CONTENT_ENCODING}),
        (421, {Reason.NOT_OURS}),
        (
            422,
            {
                Reason.WRONG_SHAPE,
                Reason.UNSUPPORTED_VERSION,
                Reason.TIMESTAMP_TOO_OLD,
                Reason.TIMESTAMP_TOO_NEW,
                Reason.HASH_MISMATCH,
            },
        ),
        (409, {Reason.CORRELATION_REUSED}),
    ],
)
def test_the_statuses_are_those_of_settlement_8(status: int, reasons: set[Reason]) -> None:
    assert {reason for reason in Reason if reason.status == status} - AT_THE_COUNTER == reasons


def test_a_bad_signature_or_unusable_key_is_401_to_a_synchronous_request() -> None:
    assert {reason for reason in Reason if reason.status == 401} - AT_THE_COUNTER == {
        Reason.SIGNATURE_INVALID,
        Reason.SENDER_NOT_SIGNED,
        Reason.DNSSEC_BOGUS,
        Reason.KEY_NOT_FOUND,
        Reason.KEY_REVOKED,
        Reason.KEY_RECORD_INVALID,
        Reason.KEY_UNUSABLE,
        Reason.WALLET_UNKNOWN,
    }


def test_the_sentence_of_the_specifications_example_is_ours() -> None:
    assert Reason.SIGNATURE_INVALID.sentence == "Invalid DKIM signature."


def test_a_reason_is_found_again_by_its_code() -> None:
    assert [reason_of(str(reason)) for reason in Reason] == list(Reason)


@pytest.mark.parametrize("code", ["", "notJson", "NOT_JSON", "NotJson "])
def test_another_code_is_no_reason(code: str) -> None:
    with pytest.raises(KeyError):
        reason_of(code)


def test_the_document_is_what_the_vocabulary_says() -> None:
    assert DOCUMENT.read_text() == table(), "write it anew: python tests/test_reasons.py"


if __name__ == "__main__":
    DOCUMENT.write_text(table())
