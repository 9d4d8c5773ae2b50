"""The reasons: each is declared once, given, documented, and of one form."""

import ast
import copy
import json
import re
from pathlib import Path

import pytest
from tests.contents import with_contents

from postroom.api import openapi
from postroom.api import reasons as api_reasons
from postroom.core.reason import Audience, Kind, Reason
from postroom.core.reasons import (
    MAILBOX_FULL,
    METHOD_NOT_ALLOWED,
    NO_SUCH_ROUTE,
    NOT_I_JSON,
    NOT_JSON,
    TOO_LARGE,
    WRONG_CONTENT_ENCODING,
    WRONG_CONTENT_TYPE,
)
from postroom.crypto.reasons import KEY_RECORD_INVALID, KEY_UNUSABLE
from postroom.protocols.nlweb.reasons import (
    CORRELATION_REUSED,
    DNSSEC_BOGUS,
    FEEDBACK_NOT_KEPT,
    HASH_MISMATCH,
    KEY_NOT_FOUND,
    KEY_REVOKED,
    NOT_OURS,
    SENDER_NOT_SIGNED,
    SIGNATURE_INVALID,
    TIMESTAMP_TOO_NEW,
    TIMESTAMP_TOO_OLD,
    UNSUPPORTED_VERSION,
    WALLET_UNKNOWN,
    WRONG_SHAPE,
)
from postroom.protocols.status import reasons as status_reasons
from postroom.reasons import REASONS as OF_DEPLOYMENTS
from postroom.reasons import reason_of

OF_CHATS = tuple(value for value in vars(status_reasons).values() if isinstance(value, Reason))
REASONS = (*OF_DEPLOYMENTS, *OF_CHATS)

ROOT = Path(__file__).parent.parent
LIBRARY = ROOT / "layers" / "postroom" / "postroom"
INDEX = LIBRARY / "reasons.py"
DECLARATIONS = sorted(set(LIBRARY.rglob("reasons.py")) - {INDEX})
DOCUMENT = ROOT / "docs" / "reference" / "reasons.md"
HEADINGS = {
    Kind.REFUSAL: "Refusals: rejected in the HTTP response; nothing is stored, no Feedback follows",
    Kind.DISCARD: "Discards: final; the sender's buffer gets one Feedback, or a synchronous request this answer; of "
    "chats, nobody is answered",
    Kind.RETRY: "Retries: could not be found out or done now; the message waits, or the caller comes back",
}
NAMES = {
    Audience.NLWEB: "NLWeb senders",
    Audience.DM3: "dm3 callers",
    Audience.DCP: "DCP peers",
    Audience.OWNERS: "owners",
    Audience.CLIENTS: "client users",
    Audience.OPERATORS: "operators",
}
HEAD = ("Code", "Status", "JSON-RPC", "Audience", "Sentence", "Section")


def page() -> str:
    """docs/reference/reasons.md as it follows from the index: `python -m tests.test_reasons` writes it."""
    lines = [
        "# Reasons",
        "",
        "Why a message or a request was refused, discarded, or has to wait. The code stands in the member `reason` of",
        "a problem document, in `data.reason` of a JSON-RPC error, in `Code` of a Feedback, in logs and metrics. The",
        "status is that of an HTTP response; a discard has one for synchronous requests.",
        "",
        "Each package declares its reasons in a module `reasons.py`; `postroom.reasons` is the index of those that a",
        "deployment gives. Operators find these in logs and metrics. Who else sees one:",
        "",
        "- NLWeb senders: in the HTTP response or in a Feedback.",
        "- dm3 callers: in the error object of JSON-RPC, whose `code` stands in the third column, or by HTTP alone.",
        "- DCP peers: in the payload of a signed response or, where none can be signed, by HTTP alone.",
        "- owners: by the mailbox API, in the outbox, or beside a message that it lists.",
        "- client users: by the client, about what only it can read.",
        "- operators: nobody else.",
    ]
    for kind, heading in HEADINGS.items():
        lines += ["", f"## {heading}", "", f"| {' | '.join(HEAD)} |", f"|{'---|' * len(HEAD)}"]
        lines += [
            f"| `{reason}` | {200 if reason.audience is Audience.DM3 else reason.status} "
            f"| {'' if reason.json_rpc is None else reason.json_rpc} "
            f"| {', '.join(NAMES[one] for one in reason.audience)} | {reason.sentence} | {reason.section} |"
            for reason in REASONS
            if reason.kind is kind
        ]
    return with_contents("\n".join(lines) + "\n")


def declared(path: Path) -> dict[str, str]:
    """The codes of the reasons that a module declares, by their names."""
    found = {}
    for node in ast.parse(path.read_text()).body:
        match node:
            case ast.Assign(
                [ast.Name(name)], ast.Call(ast.Name("refusal" | "discard" | "retry"), [ast.Constant(str(code)), *_])
            ):
                found[name] = code
    return found


def imported(path: Path) -> set[str]:
    """The names that a module imports from declarations of reasons."""
    return {
        alias.name
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and (node.module or "").endswith(".reasons")
        for alias in node.names
    }


NAME_OF = {code: name for path in DECLARATIONS for name, code in declared(path).items()}
ONLY_OWNERS = {reason for reason in REASONS if reason.audience is Audience.OWNERS}
ONLY_DCP = {reason for reason in REASONS if reason.audience is Audience.DCP}


# --- the index -------------------------------------------------------------------------------------------------------


def test_the_index_has_every_reason_that_a_module_declares_once() -> None:
    codes = [code for path in DECLARATIONS for code in declared(path).values()]
    assert sorted(codes) == sorted(reason.code for reason in REASONS)


def test_reasons_are_declared_in_modules_named_reasons_only() -> None:
    made = {
        path
        for path in LIBRARY.rglob("*.py")
        if re.search(r"\bReason\(|from postroom\.core\.reason import .*\b(refusal|discard|retry)\b", path.read_text())
    }
    assert made == set(DECLARATIONS)


def test_every_reason_is_used() -> None:
    modules = set(LIBRARY.rglob("*.py")) - {INDEX, *DECLARATIONS}
    assert sorted(set(NAME_OF.values()) - {name for path in modules for name in imported(path)}) == []


def test_a_reason_is_found_again_by_its_code() -> None:
    assert [reason_of(str(reason)) for reason in OF_DEPLOYMENTS] == list(OF_DEPLOYMENTS)


def test_reasons_of_chats_are_for_users_of_the_client_and_in_no_index_of_a_function() -> None:
    assert {reason.audience for reason in OF_CHATS} == {Audience.CLIENTS}
    assert not set(OF_CHATS) & set(OF_DEPLOYMENTS)


@pytest.mark.parametrize("code", ["", "notJson", "NOT_JSON", "NotJson "])
def test_an_unknown_code_is_not_a_reason(code: str) -> None:
    with pytest.raises(ValueError, match="no reason"):
        reason_of(code)


# --- each of them ----------------------------------------------------------------------------------------------------


def test_the_code_is_the_name_in_camel_case() -> None:
    misses = [
        f"{name} has the code {code}"
        for code, name in NAME_OF.items()
        if not re.fullmatch(r"(?:[A-Z][a-z]*)+", code) or code != "".join(part.capitalize() for part in name.split("_"))
    ]
    assert misses == []


def test_no_two_reasons_share_a_code_or_a_sentence() -> None:
    assert len({reason.code for reason in REASONS}) == len(REASONS)
    assert len({reason.sentence for reason in REASONS}) == len(REASONS)


def test_every_reason_has_a_sentence_for_people_and_a_section() -> None:
    misses = [
        *(
            f"{reason}: {reason.sentence!r} is no sentence for people that can stand in a table"
            for reason in REASONS
            if not re.fullmatch(r"[A-Z][^|]*\.", reason.sentence)
        ),
        *(
            f"{reason}: {reason.section!r} names no section of a specification, and no decision"
            for reason in REASONS
            if "|" in reason.section
            or not re.search(r"NLWeb|Status|RFC \d{4}|store protocol|design|dm3|DCP|decisions? \"", reason.section)
        ),
    ]
    assert misses == []


# --- who sees it -----------------------------------------------------------------------------------------------------


def test_every_reason_has_an_audience() -> None:
    assert [str(reason) for reason in REASONS if not reason.audience] == []


def test_reasons_for_operators_are_for_nobody_else() -> None:
    assert {reason for reason in REASONS if Audience.OPERATORS in reason.audience} == {FEEDBACK_NOT_KEPT}
    assert FEEDBACK_NOT_KEPT.audience is Audience.OPERATORS


def test_reasons_for_owners_are_those_that_the_api_documents() -> None:
    paths = json.loads(openapi.document())["paths"].values()
    problems = [
        response["description"]
        for operations in paths
        for operation in operations.values()
        for response in operation["responses"].values()
        if "application/problem+json" in response.get("content", {})
    ]
    # "Bad Request: NotARequest, CursorInvalid."
    documented = {reason_of(code) for text in problems for code in text.partition(": ")[2].rstrip(".").split(", ")}
    assert [str(reason) for reason in documented if Audience.OWNERS not in reason.audience] == []
    own = {reason for reason in vars(api_reasons).values() if isinstance(reason, Reason)}
    assert own <= documented
    assert own <= ONLY_OWNERS


def test_reasons_for_json_rpc_have_a_code_unless_only_http_answers() -> None:
    silent = {reason for reason in REASONS if Audience.DM3 in reason.audience and reason.json_rpc is None}
    assert silent == {NO_SUCH_ROUTE, METHOD_NOT_ALLOWED}


def test_reasons_with_a_json_rpc_code_are_for_dm3_senders_or_readers() -> None:
    coded = [reason for reason in REASONS if reason.json_rpc is not None]
    assert [str(reason) for reason in coded if not reason.audience & (Audience.DM3 | Audience.CLIENTS)] == []


# --- statuses --------------------------------------------------------------------------------------------------------


def statuses(reason: Reason) -> set[int]:
    """What the status of a reason may be."""
    if reason in ONLY_OWNERS:
        return {*range(400, 500), 503, 507}
    if reason in OF_CHATS:
        return {200}  # it is in no response
    if reason.kind is Kind.RETRY:
        return {503}  # `status_hint` says so; JSON-RPC answers 200
    if reason in ONLY_DCP:
        return {200, 400, 401, 422}  # 200 with a signed response, otherwise as a problem document
    if reason.audience is Audience.DM3 or (reason.kind is Kind.REFUSAL and not reason.audience & Audience.NLWEB):
        return {200}  # as every answer of JSON-RPC
    if reason is MAILBOX_FULL:
        return {507}  # the message is good, and may be sent again
    if reason.kind is Kind.REFUSAL:
        return {*range(400, 500)} - {401}  # the inbox asks for no credentials
    return {*range(400, 600)} - {503}  # a discard is final


def test_the_status_fits_the_kind() -> None:
    misses = [
        f"{reason}, a {reason.kind}, is answered {reason.status}"
        for reason in REASONS
        if reason.status not in statuses(reason)
    ]
    assert misses == []


@pytest.mark.parametrize(
    ("status", "reasons"),
    [
        (400, {NOT_JSON, NOT_I_JSON}),
        (413, {TOO_LARGE}),
        (415, {WRONG_CONTENT_TYPE, WRONG_CONTENT_ENCODING}),
        (421, {NOT_OURS}),
        (422, {WRONG_SHAPE, UNSUPPORTED_VERSION, TIMESTAMP_TOO_OLD, TIMESTAMP_TOO_NEW, HASH_MISMATCH}),
        (409, {CORRELATION_REUSED}),
    ],
)
def test_the_statuses_are_the_decided_ones(status: int, reasons: set[Reason]) -> None:
    assert {reason for reason in REASONS if reason.status == status} - ONLY_OWNERS - ONLY_DCP == reasons


def test_a_bad_signature_or_unusable_key_is_401_to_a_synchronous_request() -> None:
    assert {reason for reason in REASONS if reason.status == 401} - ONLY_OWNERS - ONLY_DCP == {
        SIGNATURE_INVALID,
        SENDER_NOT_SIGNED,
        DNSSEC_BOGUS,
        KEY_NOT_FOUND,
        KEY_REVOKED,
        KEY_RECORD_INVALID,
        KEY_UNUSABLE,
        WALLET_UNKNOWN,
    }


def test_the_sentence_of_the_specifications_example_is_ours() -> None:
    assert SIGNATURE_INVALID.sentence == "Invalid DKIM signature."


# --- the page --------------------------------------------------------------------------------------------------------


def test_the_page_is_generated_from_the_index() -> None:
    assert DOCUMENT.read_text() == page(), "write it anew: python -m tests.test_reasons"


if __name__ == "__main__":
    DOCUMENT.write_text(page())


def test_reasons_are_compared_by_value_as_a_copy_of_one_is_the_same_reason() -> None:
    codes = {name for path in DECLARATIONS for name in re.findall(r"(?m)^([A-Z][A-Z0-9_]+)\b.* = ", path.read_text())}
    by_identity = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in sorted(LIBRARY.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Compare)
        and any(isinstance(operator, ast.Is | ast.IsNot) for operator in node.ops)
        and any(isinstance(side, ast.Name) and side.id in codes for side in (node.left, *node.comparators))
    ]
    assert by_identity == []
    assert copy.deepcopy(NOT_JSON) == NOT_JSON
    assert "NOT_JSON" in codes
