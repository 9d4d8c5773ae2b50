"""The rows of the table behind docs/reference/bad-input.md that are posted to the dm3 delivery service."""

import base64
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

from tests.functions import bad_documents, bad_ens_rows, bad_names
from tests.functions.bad_dm3 import (
    BLOCKED,
    FULL,
    ID,
    NOBODY,
    OPEN,
    ORPHAN,
    RECEIVER,
    SENDER,
    SERVICE,
    WEAK,
    call,
    envelope,
    extension,
    good,
    information,
    keys,
    metadata,
    no_names,
    post,
    raw,
    sealed,
    short_key,
    spliced,
    submit,
    to_service,
    unpadded,
    value_text,
    without,
)
from tests.functions.bad_requests import MARK, Row, Sent, Then

from postroom.core.reason import Reason
from postroom.core.reasons import (
    MAILBOX_FULL,
    METHOD_NOT_ALLOWED,
    NO_SUCH_ROUTE,
    NOT_I_JSON,
    NOT_JSON,
    SENDER_NOT_WANTED,
    TOO_LARGE,
)
from postroom.core.settings import DeploymentSettings
from postroom.pipeline.dm3_inbox import MAX_BODY_BYTES, MAX_UNKNOWN_RECEIVERS
from postroom.protocols.dm3.jsonrpc import MAX_BATCH
from postroom.protocols.dm3.reasons import (
    ENCRYPTION_SCHEME_UNKNOWN,
    ENVELOPE_INVALID,
    NAME_INVALID,
    PROFILE_INVALID,
    PROFILE_UNKNOWN,
    RECEIVER_UNKNOWN,
    RPC_BATCH_TOO_LONG,
    RPC_METHOD_NOT_OFFERED,
    RPC_NOT_A_REQUEST,
    RPC_TOO_MANY_UNKNOWN_RECEIVERS,
    RPC_UNKNOWN_METHOD,
    RPC_WRONG_PARAMS,
    RPC_WRONG_VERSION,
    SEALED_VALUE_INVALID,
    SENDER_SIGNATURE_INVALID,
)
from postroom.protocols.dm3.sealing import SCHEME, seal

SIZE_LIMIT = DeploymentSettings().dm3_size_limit_bytes
Values = tuple[tuple[str, object], ...]
WRONG: Values = (
    ("null", None), ("a number", 7), ("an array", [MARK]), ("an object", {MARK: MARK}), ("empty", ""),
)  # fmt: skip
"""Values that are not a text."""
MISSING: tuple[str, object] = ("missing", ...)


def rows() -> Iterator[Row]:
    """All rows of the table."""
    for what, make, reason in _http():
        yield Row("dm3: HTTP", what, make, reason, Then.NOTHING)
    for section, lines in (
        ("dm3: JSON", _json()),
        ("dm3: JSON-RPC", _rpc()),
        ("dm3: JSON-RPC", _long_ids()),
        ("dm3: Envelope", _no_envelope()),
        ("dm3: Envelope", _members()),
        ("dm3: Envelope", _signature()),
        ("dm3: Sealed delivery information", _sealed()),
        ("dm3: Sealed delivery information", _information()),
        ("dm3: Who writes to whom", _names()),
    ):
        for what, make, code, reason in lines:
            yield Row(section, what, make, reason, Then.NOTHING, code)
    documents = bad_documents.published()
    for name, each in documents.items():
        if each.reason:
            yield Row("dm3: Documents of profiles", each.what, _from(name), each.reason, Then.NOTHING, -32002)
    yield from (row for row in _in_dns() if row.reason)
    yield from (row for row in _in_ens() if row.reason)
    for what, make, why, then in _accepted():
        yield Row("dm3: Accepted", what, make, why, then)
    for name, each in documents.items():
        if not each.reason:
            yield Row("dm3: Accepted", f"a profile under {each.what}", _from(name), None, Then.FILED)
    yield from (row for row in _in_dns() if not row.reason)
    yield from (row for row in _in_ens() if not row.reason)


def _in_dns() -> Iterator[Row]:
    for name, found in bad_names.names_in_dns().items():
        if found.reason:
            yield Row("dm3: Names in DNS", found.what, _from(name), found.reason, Then.NOTHING, -32002)
        else:
            yield Row("dm3: Accepted", f"a profile in DNS: {found.what}", _from(name), None, Then.FILED)


def _in_ens() -> Iterator[Row]:
    for each in bad_ens_rows.names_in_ens():
        if each.reason:
            row = Row(each.section, each.what, each.submitted, each.reason, each.then, -32002)
        else:
            row = Row("dm3: Accepted", f"a profile in ENS: {each.what}", each.submitted, None, Then.FILED)
        yield replace(row, settings=each.settings, reached=each.reached, has_endpoints=each.has_endpoints)


def _from(name: str) -> Callable[[], Sent]:
    """A message from a name whose profile has the keys of SENDER."""
    return lambda: submit(envelope(sender=name, signer=SENDER))


Line = tuple[str, Callable[[], Sent], int, Reason]


def _http() -> Iterator[tuple[str, Callable[[], Sent], Reason]]:
    for method in ("GET", "PUT", "DELETE", "PATCH"):
        yield f"{method} /dm3", partial(good, method=method), METHOD_NOT_ALLOWED
    yield "GET /rpc", partial(good, method="GET", path="/rpc"), METHOD_NOT_ALLOWED
    for path in ("/dm3/", "/DM3", "//rpc", "/rpc/dm3"):
        yield f"POST {path}", partial(good, path=path), NO_SUCH_ROUTE
    yield "POST / without a call", partial(raw, b"[1]", path="/"), NO_SUCH_ROUTE


def _json() -> Iterator[Line]:
    def broken(what: str, change: Callable[[bytes], bytes], reason: Reason = NOT_JSON) -> Line:
        return what, lambda: raw(change(json.dumps(call()).encode())), -32700, reason

    mark = MARK.encode()
    yield broken("0 bytes", lambda _: b"")
    yield broken("not JSON", lambda _: mark)
    yield broken("truncated JSON", lambda good: good[:-1])
    yield broken("text after the end", lambda good: good + mark)
    yield broken("a byte order mark", lambda good: b"\xef\xbb\xbf" + good)
    yield broken("not UTF-8: Latin-1", lambda good: good.replace(mark, mark + b"\xe9", 1))
    yield broken("not UTF-8: an encoded surrogate", lambda good: good.replace(mark, mark + b"\xed\xa0\x80", 1))
    yield broken("a form, as a page without JavaScript posts it", lambda _: b"jsonrpc=2.0&method=" + mark)
    not_i = NOT_I_JSON
    yield broken("a repeated member name", lambda good: good.replace(b'"id"', b'"id": 1, "id"'), not_i)
    yield broken("half a surrogate pair", lambda good: good.replace(mark, mark + b"\\ud83d", 1), not_i)
    for what, number in (
        ("the number 1e400", "1e400"), ("NaN", "NaN"),
        ("an integer of a million digits", "9" * 1_000_000),
    ):  # fmt: skip
        yield what, partial(value_text, number), -32700, not_i
    # The answer names the member, and nothing else that was sent.
    yield "the integer 2^53+1", lambda: spliced(f'"{MARK}": "{MARK}"', f'"n": {2**53 + 1}'), -32700, not_i
    yield "an id of 2^53+1", lambda: spliced(f'"{ID}"', str(2**53 + 1)), -32700, not_i
    yield "nested 100,000 levels", lambda: value_text("[" * 100_000 + "]" * 100_000), -32700, not_i
    yield "100,001 elements", lambda: value_text("[" + ",".join("0" * 100_001) + "]"), -32700, not_i
    yield broken("100,000 levels that are not closed", lambda _: b"[" * 100_000, not_i)
    yield (
        "a body of one byte more than 6 MiB",
        lambda: raw(json.dumps(call()).encode().ljust(MAX_BODY_BYTES + 1)),
        -32011,
        TOO_LARGE,
    )


def _rpc() -> Iterator[Line]:
    def wrong(what: str, value: object, code: int = -32600, reason: Reason = RPC_NOT_A_REQUEST) -> Line:
        return what, partial(post, value), code, reason

    others: Values = (("a string", MARK), ("a number", 7), ("null", None), ("an empty object", {}))
    for what, value in others:
        yield wrong(f"{what} instead of a request", value)
    yield wrong("an envelope instead of a request", envelope())
    yield wrong("an empty batch", [])
    for count in (MAX_BATCH + 1, 10_000):
        yield wrong(f"a batch of {count:,}", [{"jsonrpc": "2.0", MARK: MARK}] * count, -32005, RPC_BATCH_TOO_LONG)
    ids: Values = (("an object", {MARK: MARK}), ("an array", [MARK]), ("true", True))
    for what, value in ids:
        yield wrong(f"id is {what}", call(id=value))
    yield wrong("jsonrpc is missing", call(jsonrpc=...))
    for version in ("1.0", 2, MARK, None):
        what = json.dumps(version).replace(MARK, "another string")
        yield wrong(f"jsonrpc is {what}", call(jsonrpc=version), -32006, RPC_WRONG_VERSION)
    for what, value in (MISSING, *WRONG[:4]):
        yield wrong(f"method is {what}", call(value))
    for what, method in (
        ("unknown", f"dm3_{MARK}"), ("in another case", "DM3_submitMessage"), ("empty", ""),
        ("that of JavaScript's prototypes", "__proto__"), ("one of Ethereum", "eth_sendTransaction"),
    ):  # fmt: skip
        yield wrong(f"method is {what}", call(method), -32601, RPC_UNKNOWN_METHOD)
    yield wrong(
        "a method of the reference's billboard",
        call("dm3_billboard_getMessages"),
        -32004,
        RPC_METHOD_NOT_OFFERED,
    )
    forms: Values = (
        MISSING, ("null", None), ("an object", {"envelope": envelope()}), ("empty", []), ("a string", MARK),
    )  # fmt: skip
    for method, name in (("dm3_submitMessage", "submitting"), ("dm3_getProfileExtension", "the extension")):
        for what, value in forms:
            yield wrong(f"{name}: params is {what}", call(method, params=value), -32602, RPC_WRONG_PARAMS)
    for what, value in WRONG[:4]:
        yield wrong(f"the extension of {what}", extension(value), -32602, RPC_WRONG_PARAMS)
    yield wrong("the extension of a stranger", extension(SENDER), -32001, RECEIVER_UNKNOWN)
    for what, name in no_names():
        yield wrong(f"the extension of {what}", extension(name), -32000, NAME_INVALID)
    strangers = [extension(f"stranger{number}.eth") for number in range(MAX_UNKNOWN_RECEIVERS)]
    calls = [*strangers, extension("another.eth")]
    yield wrong(f"the fifth of {len(calls)} strangers", calls, -32005, RPC_TOO_MANY_UNKNOWN_RECEIVERS)


def _long_ids() -> Iterator[Line]:
    for what, character in (("quotation marks", '"'), ("letters that are not ASCII", "é")):
        asked = call("dm3_getDeliveryServiceProperties", params=..., id=character * 2_000_000)
        yield (
            f"an id of two million {what}",
            partial(raw, json.dumps(asked, ensure_ascii=False).encode()),
            -32600,
            RPC_NOT_A_REQUEST,
        )


def _submitted(what: str, make: Callable[[], object], reason: Reason, code: int = -32000) -> Line:
    return what, lambda: submit(make()), code, reason


def _no_envelope() -> Iterator[Line]:
    def wrong(what: str, make: Callable[[], object]) -> Line:
        return _submitted(what, make, ENVELOPE_INVALID)

    for what, value in (*WRONG, ("a text that is not JSON", f"{{{MARK}"), ("the text of an array", json.dumps([MARK]))):
        yield wrong(f"{what} instead of an envelope", partial(lambda value: value, value))
    yield wrong("the text of the text of an envelope", lambda: json.dumps(json.dumps(envelope())))
    member = f'"{MARK}": "{MARK}"'
    for what, old, new in (
        ("a repeated member name", '"message"', '"message": "", "message"'),
        ("half a surrogate pair", MARK, MARK + "\\ud83d"),
        ("the integer 2^53+1", member, f'"n": {2**53 + 1}'),
        ("100,000 levels", member, f'"{MARK}": {"[" * 100_000}'),
        ("something after its end", "}}", "}}" + MARK),
    ):
        yield wrong(f"the text of an envelope with {what}", partial(_altered, old, new))
    large = TOO_LARGE
    for what, make in (
        ("one byte more than sizeLimit, as a text", lambda: json.dumps(envelope()).ljust(SIZE_LIMIT + 1)),
        ("more than sizeLimit, as an object", lambda: envelope() | {MARK: "x" * SIZE_LIMIT}),
    ):
        yield _submitted(what, make, large, -32011)


def _altered(old: str, new: str) -> str:
    """The text of a valid envelope with a part replaced."""
    text = json.dumps(envelope())
    assert old in text
    return text.replace(old, new, 1)


def _members() -> Iterator[Line]:
    def wrong(what: str, make: Callable[[], object], reason: Reason = ENVELOPE_INVALID) -> Line:
        return _submitted(what, make, reason)

    for name in ("message", "metadata"):
        yield wrong(f"{name} is missing", partial(without, name))
    for name in ("message", "metadata"):
        for what, value in WRONG:
            if (name, what) != ("metadata", "an object"):
                yield wrong(f"{name} is {what}", partial(lambda name, value: envelope() | {name: value}, name, value))
    yield wrong("metadata is an object of something else", lambda: envelope() | {"metadata": {MARK: MARK}})
    for name in ("version", "encryptionScheme", "deliveryInformation", "signature"):
        for what, value in WRONG:
            yield wrong(f"metadata.{name} is {what}", partial(metadata, **{name: value}))
        if name != "encryptionScheme":
            yield wrong(f"metadata.{name} is missing", partial(metadata, **{name: ...}))
    for version in ("2.0", "1.00", "V1"):
        yield wrong(f"metadata.version is {version}", partial(envelope, version=version))
    for scheme in ("none", "x25519-xsalsa20-poly1305", SCHEME.upper(), MARK):
        yield wrong(
            f"metadata.encryptionScheme is {scheme.replace(MARK, 'unknown')}",
            partial(envelope, encryptionScheme=scheme),
            ENCRYPTION_SCHEME_UNKNOWN,
        )


def _signature() -> Iterator[Line]:
    for what, make in (
        ("by another key", lambda: envelope(signer=NOBODY)),
        ("of other metadata", lambda: metadata(signature=envelope()["metadata"]["signature"])),
        ("with the member version changed", lambda: metadata(version="v1")),
        ("without the member encryptionScheme", lambda: metadata(encryptionScheme=...)),
        ("with a member added", lambda: metadata(added=MARK)),
        ("that is not base64", lambda: metadata(signature=f"@{MARK}")),
        ("in base64 without padding", lambda: metadata(signature="A" * 86)),
        ("of zeros", lambda: metadata(signature=base64.b64encode(bytes(64)).decode())),
        ("of one byte", lambda: metadata(signature="AA==")),
        ("of 40 kB", lambda: metadata(signature=base64.b64encode(bytes(40_000)).decode())),
    ):
        yield _submitted(f"a signature {what}", make, SENDER_SIGNATURE_INVALID, -32003)
    for what, value in (("of something else", "0" * 64), ("that is not a text", [MARK])):
        yield _submitted(
            f"encryptedMessageHash {what}", partial(envelope, encryptedMessageHash=value), ENVELOPE_INVALID
        )


def _sealed() -> Iterator[Line]:
    def wrong(what: str, make: Callable[[], str]) -> Line:
        return _submitted(what, lambda: envelope(make()), SEALED_VALUE_INVALID)

    def flipped() -> str:
        text = json.loads(sealed())["ciphertext"]
        return sealed(ciphertext=("B" if text[0] == "A" else "A") + text[1:])

    yield wrong("not JSON", lambda: MARK)
    yield wrong("an array", lambda: json.dumps([MARK]))
    yield wrong("nested 30,000 levels", lambda: "[" * 30_000)
    yield wrong("a repeated member name", lambda: sealed().replace('"nonce"', '"nonce": "", "nonce"'))
    yield wrong("sealed to another key", lambda: seal(MARK.encode(), keys(NOBODY).encryption.public))
    yield wrong("one bit changed", flipped)
    for name in ("ciphertext", "ephemPublicKey", "nonce"):
        for what, value in (MISSING, *WRONG):
            yield wrong(f"{name} is {what}", partial(sealed, **{name: value}))
    for name in ("ciphertext", "ephemPublicKey"):
        text = str(json.loads(sealed())[name])
        for what, value in (
            ("not base64", f"@{MARK}"),
            ("base64 with a = too few or too many", text[:-1] if "=" in text else f"{text}="),
            ("base64 with a line break", text[:8] + "\n" + text[8:]), ("base64 of the URL alphabet", "-_" + text[2:]),
        ):  # fmt: skip
            yield wrong(f"{name} is {what}", partial(sealed, **{name: value}))
    for length in (0, 31, 33):
        yield wrong(f"ephemPublicKey has {length} bytes", partial(short_key, length))
    yield wrong("ephemPublicKey is all zero (small order)", partial(short_key, 32))
    yield wrong(
        "ephemPublicKey is 1 (small order)", lambda: sealed(ephemPublicKey=base64.b64encode(b"\1" + bytes(31)).decode())
    )
    for length in (0, 11, 13, 24):
        yield wrong(f"nonce has {length} bytes", partial(sealed, nonce="0x" + "00" * length))
    yield wrong("nonce without 0x", lambda: sealed(nonce="00" * 12))
    yield wrong("nonce of 24 characters that are not hex", lambda: sealed(nonce="0x" + "zz" * 12))
    yield wrong("nonce with white space", lambda: sealed(nonce="0x" + "00 " * 8))
    yield wrong("a plaintext without padding", lambda: unpadded(MARK.encode()))
    yield wrong(
        "a plaintext of one block without the padding's mark", lambda: unpadded(MARK.encode().ljust(2048, b"a"))
    )
    yield wrong("a plaintext of zeros", lambda: unpadded(bytes(2048)))
    yield wrong("a block of padding too much", lambda: unpadded(MARK.encode() + b"\x80".ljust(4096 - len(MARK), b"\0")))
    yield wrong("an empty ciphertext", lambda: unpadded(b""))


def _information() -> Iterator[Line]:
    def wrong(what: str, plaintext: bytes) -> Line:
        return _submitted(f"sealed: {what}", lambda: envelope(to_service(plaintext)), ENVELOPE_INVALID)

    for what, plaintext in (
        ("nothing", b""), ("not JSON", MARK.encode()), ("not UTF-8", b'"\xff"'), ("null", b"null"), ("an array", b"[]"),
        ("a text", json.dumps(json.dumps({"to": RECEIVER, "from": SENDER})).encode()),
        ("half a surrogate pair", b'{"to": "\\ud83d", "from": "\\udc00"}'),
        ("a repeated member name", b'{"to": "receiver.eth", "to": "receiver.eth", "from": "x.eth"}'),
        ("the integer 2^53+1", f'{{"to": "{RECEIVER}", "from": "{SENDER}", "x": {2**53 + 1}}}'.encode()),
        ("100,000 levels", b"[" * 100_000),
    ):  # fmt: skip
        yield wrong(what, plaintext)
    for name in ("to", "from", "deliveryInstruction"):
        # An instruction may be missing, or empty.
        for what, value in (MISSING, *WRONG) if name != "deliveryInstruction" else WRONG[:4]:
            members = {"to": RECEIVER, "from": SENDER, name: value}
            given = {member: each for member, each in members.items() if each is not ...}
            yield wrong(f"{name} is {what}", json.dumps(given).encode())


def _names() -> Iterator[Line]:
    for what, name in no_names():
        for member in ("to", "from"):
            delivery = {"to": RECEIVER, "from": SENDER, member: name}
            yield (
                f"{member}: {what}",
                partial(lambda delivery: submit(information(delivery)), delivery),
                -32000,
                NAME_INVALID,
            )
    for what, members, code, reason in (
        ("to: nobody's mailbox", {"to": f"{MARK}.eth"}, -32001, RECEIVER_UNKNOWN),
        ("to: the delivery service itself", {"to": SERVICE}, -32001, RECEIVER_UNKNOWN),
        ("to: below a mailbox", {"to": f"{MARK}.{RECEIVER}"}, -32001, RECEIVER_UNKNOWN),
        ("to: a receiver without a profile", {"to": ORPHAN}, -32002, PROFILE_UNKNOWN),
        ("to: a mailbox that holds as much as it may", {"to": FULL}, -32005, MAILBOX_FULL),
        ("to: a receiver whose key is of small order", {"to": WEAK}, -32002, PROFILE_INVALID),
        ("from: a sender without a profile", {"sender": NOBODY}, -32002, PROFILE_UNKNOWN),
        ("from: a profile that breaks off", {"sender": f"{MARK}-torn.eth"}, -32002, PROFILE_INVALID),
        ("from: a signing key of small order", {"sender": f"{MARK}-small.eth"}, -32002, PROFILE_INVALID),
        ("from: a sender whom the receiver blocks", {"sender": BLOCKED}, -32010, SENDER_NOT_WANTED),
        ("from: somebody else than who signed", {"sender": RECEIVER, "signer": SENDER}, -32003,
         SENDER_SIGNATURE_INVALID),
        ("from: somebody else than who signed, to who takes the unverified",
         {"to": OPEN, "sender": RECEIVER, "signer": SENDER}, -32003, SENDER_SIGNATURE_INVALID),
    ):  # fmt: skip
        yield what, partial(lambda members: submit(envelope(**members)), members), code, reason


def _accepted() -> Iterator[tuple[str, Callable[[], Sent], Reason | None, Then]]:
    filed, marked = Then.FILED, Then.MARKED
    for what, make in (
        ("an envelope as its text, with white space", lambda: json.dumps(envelope(), indent=3)),
        ("to and from in capitals", lambda: information({"to": RECEIVER.upper(), "from": SENDER.upper()})),
        ("to and from with a zero-width space, which ENSIP-15 leaves out",
         lambda: information({"to": f"{RECEIVER}\u200b", "from": f"\u200b{SENDER}"})),
        ("without encryptionScheme", lambda: envelope(encryptionScheme=...)),
        ("version v1", lambda: envelope(version="v1")),
        ("members that nobody knows, and the integer 2^53-1",
         lambda: envelope(x=2**53 - 1, y={"": [None, True, 1e-7]})),
        ("a message that is not sealed: only the receiver could tell", lambda: envelope() | {"message": MARK}),
    ):  # fmt: skip
        yield what, partial(lambda make: submit(make()), make), None, filed
    for what, value in (*WRONG, ("a text", MARK), ("a sealed value", sealed())):
        yield (
            f"a postmark by the sender that is {what}: it is replaced",
            partial(lambda value: submit(envelope() | {"postmark": value}), value),
            None,
            filed,
        )
    for path in ("/rpc", "/"):
        yield f"posted to {path}", partial(good, path=path), None, filed
    for what, name, why in (
        ("a sender without a profile", NOBODY, PROFILE_UNKNOWN),
        ("a sender's profile that breaks off", f"{MARK}-torn.eth", PROFILE_INVALID),
    ):
        yield (
            f"{what}, to who takes the unverified",
            partial(lambda name: submit(envelope(sender=name, to=OPEN)), name),
            why,
            marked,
        )
