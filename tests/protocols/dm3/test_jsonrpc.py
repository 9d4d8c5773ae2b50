"""JSON-RPC 2.0 as a whole: requests, batches, errors (decision "JSON-RPC")."""

import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.core.errors import NotNowError, TheirError
from postroom.core.ijson import MAX_VALUES, JsonValue
from postroom.core.reasons import STORE_UNAVAILABLE
from postroom.protocols.dm3.jsonrpc import (
    MAX_BATCH,
    MAX_ID_CHARACTERS,
    Calls,
    RpcError,
    RpcRequest,
    RpcResult,
    error,
    first_param,
    read_calls,
    write_answers,
)
from postroom.protocols.dm3.reasons import (
    RPC_NOT_A_REQUEST,
    RPC_UNKNOWN_METHOD,
    RPC_WRONG_PARAMS,
    SENDER_SIGNATURE_INVALID,
)
from postroom.reasons import reason_of

PARSE_ERROR = {"code": -32700, "message": "Parse error"}
INVALID_REQUEST = {"code": -32600, "message": "Invalid Request"}
NOT_FOUND = {"code": -32601, "message": "Method not found"}


def subtract(params: JsonValue) -> JsonValue:
    match params:
        case [int(minuend), int(subtrahend)] | {"minuend": int(minuend), "subtrahend": int(subtrahend)}:
            return minuend - subtrahend
    raise TheirError(RPC_WRONG_PARAMS)


def total(params: JsonValue) -> JsonValue:
    if not isinstance(params, list):
        raise TheirError(RPC_WRONG_PARAMS)
    return sum(number for number in params if isinstance(number, int))


METHODS: dict[str, Callable[[JsonValue], JsonValue]] = {
    "subtract": subtract,
    "sum": total,
    "get_data": lambda _: ["hello", 5],
    "update": lambda _: None,
    "notify_sum": lambda _: None,
    "notify_hello": lambda _: None,
}
"""The server of JSON-RPC 2.0 §7."""


def answer(item: RpcRequest | RpcError) -> RpcResult | RpcError:
    if isinstance(item, RpcError):
        return item
    method = METHODS.get(item.method)
    if method is None:
        return error(item, TheirError(RPC_UNKNOWN_METHOD))
    try:
        return RpcResult(item.id, method(item.params))
    except TheirError as refused:
        return error(item, refused)


def serve(body: str | bytes) -> bytes:
    calls = read_calls(body.encode() if isinstance(body, str) else body, max_bytes=400_000)
    return write_answers(calls, map(answer, calls.items))


def served(body: str | bytes) -> JsonValue:
    """What is served, with nothing but code and message of errors, as the examples have them."""
    answers: JsonValue = json.loads(serve(body))
    for one in answers if isinstance(answers, list) else [answers]:
        if isinstance(one, dict) and isinstance(said := one.get("error"), dict):
            del said["data"]
    return answers


def failure(said: dict[str, object], identity: object = None) -> dict[str, object]:
    return {"jsonrpc": "2.0", "error": said, "id": identity}


# --- the examples of JSON-RPC 2.0 §7, in their order -------------------------------------------------------------


@pytest.mark.parametrize(
    ("request_", "response"),
    [
        ('{"jsonrpc": "2.0", "method": "subtract", "params": [42, 23], "id": 1}',
         {"jsonrpc": "2.0", "result": 19, "id": 1}),
        ('{"jsonrpc": "2.0", "method": "subtract", "params": [23, 42], "id": 2}',
         {"jsonrpc": "2.0", "result": -19, "id": 2}),
        ('{"jsonrpc": "2.0", "method": "subtract", "params": {"subtrahend": 23, "minuend": 42}, "id": 3}',
         {"jsonrpc": "2.0", "result": 19, "id": 3}),
        ('{"jsonrpc": "2.0", "method": "subtract", "params": {"minuend": 42, "subtrahend": 23}, "id": 4}',
         {"jsonrpc": "2.0", "result": 19, "id": 4}),
        ('{"jsonrpc": "2.0", "method": "foobar", "id": "1"}', failure(NOT_FOUND, "1")),
        ('{"jsonrpc": "2.0", "method": "foobar, "params": "bar", "baz]', failure(PARSE_ERROR)),
        ('{"jsonrpc": "2.0", "method": 1, "params": "bar"}', failure(INVALID_REQUEST)),
        ('[{"jsonrpc": "2.0", "method": "sum", "params": [1,2,4], "id": "1"}, {"jsonrpc": "2.0", "method"',
         failure(PARSE_ERROR)),
        ("[]", failure(INVALID_REQUEST)),
        ("[1]", [failure(INVALID_REQUEST)]),
        ("[1,2,3]", [failure(INVALID_REQUEST)] * 3),
        ("""[
            {"jsonrpc": "2.0", "method": "sum", "params": [1,2,4], "id": "1"},
            {"jsonrpc": "2.0", "method": "notify_hello", "params": [7]},
            {"jsonrpc": "2.0", "method": "subtract", "params": [42,23], "id": "2"},
            {"foo": "boo"},
            {"jsonrpc": "2.0", "method": "foo.get", "params": {"name": "myself"}, "id": "5"},
            {"jsonrpc": "2.0", "method": "get_data", "id": "9"}
         ]""",
         [
            {"jsonrpc": "2.0", "result": 7, "id": "1"},
            {"jsonrpc": "2.0", "result": None, "id": None},
            {"jsonrpc": "2.0", "result": 19, "id": "2"},
            failure(INVALID_REQUEST),
            failure(NOT_FOUND, "5"),
            {"jsonrpc": "2.0", "result": ["hello", 5], "id": "9"},
        ]),
    ],
)  # fmt: skip
def test_the_examples_of_the_specification(request_: str, response: object) -> None:
    assert served(request_) == response


@pytest.mark.parametrize(
    ("request_", "response"),
    [
        ('{"jsonrpc": "2.0", "method": "update", "params": [1,2,3,4,5]}', {"jsonrpc": "2.0", "result": None}),
        ('{"jsonrpc": "2.0", "method": "foobar"}', failure(NOT_FOUND)),
        ("""[
            {"jsonrpc": "2.0", "method": "notify_sum", "params": [1,2,4]},
            {"jsonrpc": "2.0", "method": "notify_hello", "params": [7]}
        ]""", [{"jsonrpc": "2.0", "result": None}] * 2),
    ],
)  # fmt: skip
def test_the_specifications_notifications_are_answered_with_null_as_their_id(
    request_: str, response: dict[str, object] | list[dict[str, object]]
) -> None:
    answers = response if isinstance(response, list) else [response]
    expected = [{**each, "id": None} for each in answers]
    assert served(request_) == (expected if isinstance(response, list) else expected[0])


# --- ids ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "identity",
    ['"1"', '""', '"\\ud83d\\ude00 \\u0000"', "0", "-0", "-7", "1.0", "1e3", "0.5", "9007199254740991", "null"],
)
def test_an_id_of_every_allowed_type_is_returned(identity: str) -> None:
    asked = f'{{"jsonrpc":"2.0","method":"get_data","id":{identity}}}'
    assert served(asked) == {"jsonrpc": "2.0", "result": ["hello", 5], "id": json.loads(identity)}
    assert served(asked.replace("get_data", "none")) == failure(NOT_FOUND, json.loads(identity))


@pytest.mark.parametrize("identity", ["{}", '{"a":1}', "[]", "[1]", "true", "false"])
def test_an_id_of_another_type_is_invalid(identity: str) -> None:
    assert served(f'{{"jsonrpc":"2.0","method":"get_data","id":{identity}}}') == failure(INVALID_REQUEST)


def test_a_request_without_an_id_is_answered_as_one_whose_id_is_null() -> None:
    """The reference's clients send none, and wait for the answer."""
    calls = read_calls(b'[{"jsonrpc":"2.0","method":"m","id":null},{"jsonrpc":"2.0","method":"m"}]', max_bytes=1000)
    assert calls.items == (RpcRequest(None, "m", None), RpcRequest(None, "m", None))


# --- what is no request ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "code", "identity", "why"),
    [
        ('{"method":"get_data","id":1}', -32600, 1, "jsonrpc is missing"),
        ('{"jsonrpc":"1.0","method":"get_data","id":1}', -32006, 1, "2.0"),
        ('{"jsonrpc":2.0,"method":"get_data","id":1}', -32006, 1, "2.0"),
        ('{"jsonrpc":null,"method":"get_data","id":"x"}', -32006, "x", "2.0"),
        ('{"jsonrpc":"2.0","id":1}', -32600, 1, "method must be a string"),
        ('{"jsonrpc":"2.0","method":null,"id":1}', -32600, 1, "method must be a string"),
        ('{"jsonrpc":"2.0","method":["get_data"],"id":1}', -32600, 1, "method must be a string"),
        ("{}", -32600, None, "jsonrpc is missing"),
        ('"get_data"', -32600, None, "a request is an object"),
        ("null", -32600, None, "a request is an object"),
        ("[[]]", -32600, None, "a request is an object"),
        ("", -32700, None, "no content"),
        ('{"jsonrpc":"2.0","method":"a","method":"b","id":1}', -32700, None, "occurs twice"),
        ('{"jsonrpc":"2.0","method":"\\ud800","id":1}', -32700, None, "surrogate"),
        ('{"jsonrpc":"2.0","method":"a","id":9007199254740993}', -32700, None, "integer at id is beyond"),
        ('{"jsonrpc":"2.0","method":"a","id":1e400}', -32700, None, "beyond the range"),
        ("[" * 1000, -32700, None, "deeper"),
        (b'{"jsonrpc":"2.0","method":"\xff","id":1}', -32700, None, "not UTF-8"),
        (b" " * 400_001, -32011, None, "at most 400000"),
    ],
)
def test_each_error_has_its_code_and_cause(body: str | bytes, code: int, identity: object, why: str) -> None:
    answers = json.loads(serve(body))
    one = answers[0] if isinstance(answers, list) else answers
    assert (one["error"]["code"], one["id"]) == (code, identity)
    assert why in one["error"]["data"]["detail"]


def test_a_value_without_id_and_with_another_version_is_refused() -> None:
    assert served('{"jsonrpc":"1.0","method":"update"}') == failure(
        {"code": -32006, "message": "JSON-RPC version not supported"}
    )


# --- batches -----------------------------------------------------------------------------------------------------


def batch(size: int) -> str:
    return json.dumps([{"jsonrpc": "2.0", "method": "get_data", "id": number} for number in range(size)])


@pytest.mark.parametrize(
    "bad",
    ["9007199254740993", "1e400", '{"a":1,"a":2}', "[" * 100 + "]" * 100],
    ids=["integer", "number", "duplicate", "depth"],
)
def test_a_request_that_is_not_i_json_costs_itself_and_not_the_batch(bad: str) -> None:
    good = '{"jsonrpc":"2.0","method":"get_data","id":%d}'
    wrong = f'{{"jsonrpc":"2.0","method":"get_data","params":[{bad}],"id":2}}'
    first, second, third = served(f"[{good % 1}, {wrong}, {good % 3}]")  # type: ignore[misc]
    assert (first["id"], third["id"]) == (1, 3)  # type: ignore[index,call-overload]
    assert second == failure(PARSE_ERROR, 2)
    assert served(wrong) == failure(PARSE_ERROR)


@pytest.mark.parametrize("identity", ["null", "true", "[]", "9007199254740993", json.dumps("x" * 257)])
def test_of_a_request_that_is_not_i_json_only_a_valid_id_is_repeated(identity: str) -> None:
    good = '{"jsonrpc":"2.0","method":"get_data","id":1}'
    _, second = served(f'[{good}, {{"jsonrpc":"2.0","method":"get_data","params":[1e400],"id":{identity}}}]')  # type: ignore[misc]
    assert second == failure(PARSE_ERROR)


def test_a_batch_that_cannot_be_split_is_refused_as_a_whole() -> None:
    good = '{"jsonrpc":"2.0","method":"get_data","id":1}'
    too_many = f"[{good}, [{'0,' * MAX_VALUES}0]]"
    for body in (f"[{good}, 1e400", f"[{good}, NaN]", "[" + ",".join([good] * MAX_BATCH) + ",1e400]"):
        assert served(body) == failure(PARSE_ERROR)
    assert served(too_many) == failure(PARSE_ERROR)


TOO_LONG = failure({"code": -32005, "message": "Limit exceeded"})


def test_an_oversized_batch_is_refused_as_a_whole() -> None:
    answers = served(batch(MAX_BATCH))
    assert isinstance(answers, list)
    assert [one["id"] for one in answers if isinstance(one, dict)] == list(range(MAX_BATCH))
    assert served(batch(MAX_BATCH + 1)) == TOO_LONG


def test_a_batch_of_one_is_answered_with_an_array() -> None:
    assert served(batch(1)) == [{"jsonrpc": "2.0", "result": ["hello", 5], "id": 0}]


def test_a_far_too_long_batch_is_one_error() -> None:
    assert served(json.dumps([1] * 10_000)) == TOO_LONG


# --- parameters, faults ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("params", ['["envelope"]', '["envelope","token"]'])
def test_parameters_after_the_first_are_ignored(params: str) -> None:
    assert first_param(call_with(params)) == "envelope"


@pytest.mark.parametrize("params", ["[]", "{}", '{"0":"envelope"}', "null"])
def test_parameters_of_another_form_are_wrong(params: str) -> None:
    with pytest.raises(TheirError) as caught:
        first_param(call_with(params))
    assert caught.value.reason is RPC_WRONG_PARAMS


def call_with(params: str) -> RpcRequest:
    body = f'{{"jsonrpc":"2.0","method":"m","params":{params},"id":1}}'
    (call,) = read_calls(body.encode(), max_bytes=1000).items
    assert isinstance(call, RpcRequest)
    return call


@pytest.mark.parametrize(
    ("why", "said"),
    [
        (
            TheirError(SENDER_SIGNATURE_INVALID, "the envelope's signature"),
            {"code": -32003, "message": "Unauthorized",
             "data": {"reason": "SenderSignatureInvalid", "detail": "the envelope's signature"}},
        ),
        (
            NotNowError(STORE_UNAVAILABLE),
            {"code": -32002, "message": "Resource unavailable",
             "data": {"reason": "StoreUnavailable", "detail": "The store could not be used now."}},
        ),
    ],
)  # fmt: skip
def test_an_error_has_the_specifications_code_and_our_reason(why: TheirError | NotNowError, said: object) -> None:
    assert error(RpcRequest("7", "m", None), why).as_json() == {"jsonrpc": "2.0", "error": said, "id": "7"}


def test_an_internal_error_reveals_nothing() -> None:
    text = write_answers(Calls((RpcRequest(3, "m", None),), is_batch=False), [RpcError(3, None)])
    assert text == b'{"jsonrpc":"2.0","error":{"code":-32603,"message":"Internal error"},"id":3}'


# --- whatever comes, there is a well-formed answer ---------------------------------------------------------------

SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
)
REQUEST = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.sampled_from(["2.0", "1.0"]) | JSON,
        "method": st.sampled_from([*METHODS, "rpc.x"]) | JSON,
        "params": JSON,
        "id": st.integers(-9, 9) | JSON,
    },
)


def assert_well_formed(text: bytes | None) -> None:
    if text is None:
        return
    value = json.loads(text)
    assert value != []
    for one in value if isinstance(value, list) else [value]:
        assert one["jsonrpc"] == "2.0"
        assert set(one) - {"jsonrpc", "id"} in ({"result"}, {"error"})
        assert one["id"] is None or type(one["id"]) in (str, int, float)
        if "error" in one:
            assert isinstance(one["error"]["code"], int)
            assert one["error"]["message"]
            assert reason_of(one["error"]["data"]["reason"])
            assert one["error"]["data"]["detail"]


@given(JSON | REQUEST | st.lists(REQUEST, max_size=MAX_BATCH + 2))
def test_all_json_gets_a_well_formed_answer(value: object) -> None:
    assert_well_formed(serve(json.dumps(value)))


@given(st.binary(max_size=200) | st.text(alphabet='{}[]":,0e.-\\ud8 "jsonrpc2.0methodid', max_size=80).map(str.encode))
def test_all_bytes_get_a_well_formed_answer(body: bytes) -> None:
    assert_well_formed(serve(body))


def test_the_length_of_an_id_is_limited() -> None:
    def asked(identity: str) -> RpcRequest | RpcError:
        [item] = read_calls(
            json.dumps({"jsonrpc": "2.0", "method": "m", "id": identity}).encode(), max_bytes=9999
        ).items
        return item

    longest = "x" * MAX_ID_CHARACTERS
    assert asked(longest) == RpcRequest(longest, "m", None)
    refused = asked(longest + "x")
    assert isinstance(refused, RpcError)
    assert (refused.id, refused.reason) == (None, RPC_NOT_A_REQUEST)


@pytest.mark.parametrize("params", [5, "x", True, 0.5])
def test_params_are_an_array_or_an_object(params: object) -> None:
    body = json.dumps({"jsonrpc": "2.0", "method": "m", "id": 1, "params": params}).encode()
    [refused] = read_calls(body, max_bytes=9999).items
    assert isinstance(refused, RpcError)
    assert (refused.id, refused.reason) == (1, RPC_WRONG_PARAMS)
