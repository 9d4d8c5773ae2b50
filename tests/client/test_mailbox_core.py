"""The client's rules by answers that are fed by hand: what is signed, what is accepted, and the next request."""

import json
import subprocess
import sys
from base64 import b64decode, urlsafe_b64encode
from collections.abc import Callable
from typing import Any

import jwt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.test_shown_text import HOSTILE
from tests.patience import PATIENCE

from postroom.api.schemas import Message
from postroom.client.challenge import ChallengeError, check_challenge
from postroom.client.mailbox.core import Core
from postroom.client.mailbox.errors import (
    MailboxError,
    RefusedError,
    UnavailableError,
    UnexpectedAnswerError,
    UnreadableMessageWarning,
    UntrustedHostError,
)
from postroom.client.mailbox.exchange import Answer, MailboxRequest, MailboxResponse, NoAnswer, Steps, T
from postroom.client.mailbox.message_view import ShownMessage, warn_of
from postroom.client.mailbox.session import Retries, Session
from postroom.crypto.rsa_ed25519 import PrivateKey

HOST, NAME = "nlweb.shop.com", "shop.com"
KEY = PrivateKey.generate("ed25519")
CLAIMS = {"sub": NAME, "aud": HOST, "purpose": "pick up mail", "jti": "1", "iat": 0, "exp": 120}


def challenge(claims: dict[str, Any] = CLAIMS, typ: str = "challenge+jwt") -> str:
    return jwt.encode(claims, "k" * 32, headers={"typ": typ})


def compact(*parts: bytes) -> str:
    return ".".join(urlsafe_b64encode(part).decode().rstrip("=") for part in parts)


def said(value: object, status: int = 200, **headers: str) -> MailboxResponse:
    return MailboxResponse(
        status, {name.replace("_", "-"): it for name, it in headers.items()}, json.dumps(value).encode()
    )


def problem(status: int, reason: str) -> MailboxResponse:
    return said({"title": "", "status": status, "detail": "Because.", "reason": reason}, status)


SIGNED_IN = [said(challenge()), said("token")]
STATUS = said({"waiting": 0, "bytes": 0, "more": False, "oldest": None, "age_seconds": 0})


def core(key: Any = KEY, attempts: int = 3) -> Core:
    return Core(Session(HOST, NAME, key, Retries(attempts), lambda: 1.0))


def fed(steps: Steps[T], *answers: Answer) -> tuple[T | MailboxError, list[MailboxRequest]]:
    """The result of steps, and their requests; every answer must be used."""
    requests: list[MailboxRequest] = []
    left = list(answers)
    try:
        requests.append(next(steps))
        while True:
            requests.append(steps.send(left.pop(0)))
    except StopIteration as ended:
        result: T | MailboxError = ended.value
    except MailboxError as error:
        result = error
    assert left == []
    return result, requests


# --- what is signed --------------------------------------------------------------------------------------------------


def test_a_challenge_for_this_owner_at_this_host_is_signed() -> None:
    check_challenge(challenge(), HOST, NAME)
    check_challenge(challenge({**CLAIMS, "aud": HOST, "new": "claim"}), HOST, NAME)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (challenge({**CLAIMS, "aud": "nlweb.other.com"}), "signing in elsewhere"),
        (challenge({**CLAIMS, "aud": [HOST]}), "signing in elsewhere"),
        (challenge({**CLAIMS, "aud": [HOST, "nlweb.other.com"]}), "signing in elsewhere"),
        (challenge({name: it for name, it in CLAIMS.items() if name != "aud"}), "signing in elsewhere"),
        (challenge({**CLAIMS, "sub": "other.com"}), "another mailbox"),
        (challenge({**CLAIMS, "purpose": "sell the shop"}), "not for signing in"),
        (challenge({name: it for name, it in CLAIMS.items() if name != "purpose"}), "not for signing in"),
        (challenge(typ="at+jwt"), "not for signing in"),
        (challenge(typ="JWT"), "not for signing in"),
        (challenge({**CLAIMS, "more": "x" * 2048}), "of a valid size"),
        ("", "not a JSON Web Token"),
        ("a.b.c", "not a JSON Web Token"),
        (challenge() + "\n", "not a JSON Web Token"),
        (challenge().replace(".", ".{", 1), "not a JSON Web Token"),
        ('{"Body":{},"Header":{"From":"shop.com"}}', "not a JSON Web Token"),
        (compact(b"[]", b"[]", b"x"), "not a JSON Web Token"),
        (compact(b'{"alg":"x"}', b"[]", b"x"), "not a JSON Web Token"),
        (compact(b"[" * 1200, b"[]", b"x"), "not a JSON Web Token"),
    ],
)  # fmt: skip
def test_no_other_challenge_is_signed(text: str, why: str) -> None:
    def sign(_: bytes) -> bytes:
        pytest.fail("it was signed")

    key = type("Key", (), {"sign": staticmethod(sign)})()
    error, requests = fed(core(key).status(), said(text))
    assert isinstance(error, UntrustedHostError)
    assert why in str(error)
    assert [it.method for it in requests] == ["GET"]


def test_a_challenge_of_one_purpose_is_not_signed_for_the_other() -> None:
    def sign(_: bytes) -> bytes:
        pytest.fail("it was signed")

    key = type("Key", (), {"sign": staticmethod(sign)})()
    opening = challenge({**CLAIMS, "purpose": "open"})
    for steps, text, why in (
        (core(key).open(), challenge(), "is not for opening a mailbox"),
        (core(key).open(), challenge({**CLAIMS, "purpose": None}), "is not for opening a mailbox"),
        (core(key).status(), opening, "is not for signing in"),
    ):
        error, requests = fed(steps, said(text))  # type: ignore[arg-type]
        assert isinstance(error, UntrustedHostError)
        assert why in str(error)
        assert [it.method for it in requests] == ["GET"]
    for flaw in ({"aud": "nlweb.other.com"}, {"sub": "other.com"}):
        error, requests = fed(core(key).open(), said(challenge({**CLAIMS, "purpose": "open", **flaw})))
        assert (type(error), len(requests)) == (UntrustedHostError, 1)


def test_a_challenge_to_open_a_mailbox_is_signed_and_returns_a_token() -> None:
    opened = core()
    _, requests = fed(opened.open(), said(challenge({**CLAIMS, "purpose": "open"})), said("token"))
    assert [(it.method, it.path, it.query) for it in requests] == [
        ("GET", "/auth/shop.com", {"purpose": "open"}), ("POST", "/mailboxes/shop.com", {}),
    ]  # fmt: skip
    body = json.loads(requests[1].body)
    assert KEY.public.verify(b64decode(body["signature"]), body["challenge"].encode())
    _, requests = fed(opened.status(), STATUS)
    assert requests[0].headers["Authorization"] == "Bearer token"


def test_opening_is_retried_with_a_new_challenge() -> None:
    away, asks = NoAnswer("away"), said(challenge({**CLAIMS, "purpose": "open"}))
    _, requests = fed(core().open(), asks, away, asks, said("token"))
    assert [(it.method, it.pause) for it in requests] == [("GET", 0), ("POST", 0), ("GET", 1), ("POST", 0)]


@given(st.text() | st.from_regex(r"[\w-]+\.[\w-]+\.[\w-]+", fullmatch=True))
def test_no_text_chosen_by_a_host_is_signed(text: str) -> None:
    with pytest.raises(ChallengeError):
        check_challenge(text, HOST, NAME)


# --- tokens ----------------------------------------------------------------------------------------------------------


def test_a_token_is_sent_with_every_request_and_not_shown_in_a_repr() -> None:
    _, requests = fed(core().status(), *SIGNED_IN, STATUS)
    assert [(it.method, it.path) for it in requests] == [
        ("GET", "/auth/shop.com"), ("POST", "/auth/shop.com"), ("GET", "/mailboxes/shop.com/status"),
    ]  # fmt: skip
    assert requests[2].headers["Authorization"] == "Bearer token"
    assert "token" not in repr(requests[2])


def test_what_a_host_says_of_a_message_controls_no_terminal_that_shows_it() -> None:
    """Python prints warnings as they are, and its prompt what an object says of itself."""
    with pytest.warns(UnreadableMessageWarning) as warned:
        warn_of([HOSTILE * 1000])
    assert str(warned[0].message).isprintable()
    assert len(str(warned[0].message)) < 1500
    shown = ShownMessage(Message(HOSTILE, "2026-11-21T09:29:57Z", HOSTILE, {"unverified": HOSTILE}))
    assert repr(shown).isprintable()


def test_a_new_token_that_is_refused_is_an_error() -> None:
    ended = problem(401, "TokenInvalid")
    error, requests = fed(core().status(), *SIGNED_IN, ended, *SIGNED_IN, ended)
    assert isinstance(error, RefusedError)
    assert error.reason == "TokenInvalid"
    assert len(requests) == 6


def test_threads_that_share_a_mailbox_sign_in_once_when_the_token_expires() -> None:
    shared = core()
    fed(shared.status(), *SIGNED_IN, STATUS)
    one, other = shared.status(), shared.status()
    next(one), next(other)
    ended = problem(401, "TokenInvalid")
    assert one.send(ended).path == other.send(ended).path == "/auth/shop.com"
    shared = core()
    fed(shared.status(), *SIGNED_IN, STATUS)
    one, other = shared.status(), shared.status()
    next(one), next(other)
    one.send(ended), one.send(SIGNED_IN[0])
    assert one.send(said("newer")).headers["Authorization"] == "Bearer newer"
    assert other.send(ended).headers["Authorization"] == "Bearer newer"


@pytest.mark.parametrize("token", ["", "a b", "a\r\nHost: evil.com", "🤝", "x" * 2049, 1, None, {}])
def test_an_invalid_token_is_not_sent(token: object) -> None:
    error, requests = fed(core().status(), SIGNED_IN[0], said(token))
    assert isinstance(error, UnexpectedAnswerError)
    assert len(requests) == 2


def test_a_name_is_percent_encoded_in_the_path() -> None:
    steps = Core(Session(HOST, "🤝.eth", KEY, Retries(), lambda: 0.0)).status()
    assert next(steps).path == "/auth/%F0%9F%A4%9D.eth"


# --- answers ---------------------------------------------------------------------------------------------------------


def test_a_host_with_an_untrusted_certificate_is_not_asked_again() -> None:
    error, requests = fed(core().status(), NoAnswer("The certificate …", untrusted=True))
    assert isinstance(error, UntrustedHostError)
    assert len(requests) == 1


def test_a_retry_pauses_once_before_its_first_request() -> None:
    away = NoAnswer("away")
    _, requests = fed(core().status(), away, SIGNED_IN[0], away, *SIGNED_IN, STATUS)
    assert [it.pause for it in requests] == [0, 1, 0, 2, 0, 0]
    later = core()
    fed(later.status(), *SIGNED_IN, STATUS)
    error, requests = fed(later.status(), problem(401, "TokenInvalid"), away, SIGNED_IN[0], away, *SIGNED_IN, away)
    assert [it.pause for it in requests] == [0, 0, 1, 0, 2, 0, 0]
    assert isinstance(error, UnavailableError)


@pytest.mark.parametrize(
    "parts",
    [
        [said(None, 206, content_range="bytes 1-4/9")],
        [said(None, 206, content_range="bytes 0-3/9"), said(None, 206, content_range="bytes 0-3/9")],
        [said(None, 206, content_range="bytes 0-3/9"), said(None, 200)],
        [said(None, 206)],
        [said(None, 206, content_range="bytes 0-3/*")],
        [MailboxResponse(206, {"content-range": "bytes 0-0/9"}, b"")],
        [
            MailboxResponse(206, {"content-range": "bytes 0-0/2"}, b"\xe2"),
            MailboxResponse(206, {"content-range": "bytes 1-1/2"}, b"x"),
        ],
    ],
)
def test_parts_that_do_not_fit_together_are_an_error(parts: list[MailboxResponse]) -> None:
    error, _ = fed(core().envelope("1-a-0"), *SIGNED_IN, *parts)
    assert isinstance(error, UnexpectedAnswerError)


def test_an_envelope_in_one_response_is_accepted() -> None:
    text, _ = fed(core().envelope("1-a-0"), *SIGNED_IN, said("x"))
    assert text == '"x"'


ANSWERS = st.builds(
    MailboxResponse,
    st.sampled_from([200, 204, 206, 301, 400, 401, 404, 412, 429, 500, 503]),
    st.dictionaries(st.sampled_from(["content-range", "retry-after", "etag"]), st.text(max_size=12)),
    st.binary(max_size=20)
    | st.sampled_from([it.body for it in (*SIGNED_IN, STATUS, problem(401, "TokenInvalid"), problem(400, "🤝"))])
    | st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda it: (
            st.lists(it, max_size=3) | st.dictionaries(st.sampled_from(["ids", "messages", "cursor", "more"]), it)
        ),
    ).map(lambda it: json.dumps(it).encode()),
)
OPERATIONS: list[Callable[[Core], Steps[Any]]] = [
    lambda it: it.page("", 0.0, ""),
    lambda it: it.message("1-a-0"),
    lambda it: it.envelope("1-a-0"),
    lambda it: it.acknowledge(["1-a-0"]),
    lambda it: it.conversations(),
    lambda it: it.status(),
    lambda it: it.settings(),
    lambda it: it.sign_out(),
    lambda it: it.open(),
]


@given(st.sampled_from(OPERATIONS), st.lists(ANSWERS | st.builds(NoAnswer, st.text(), st.booleans())), st.booleans())
def test_any_response_is_a_result_or_one_of_our_errors(
    operation: Callable[[Core], Steps[Any]], answers: list[Answer], signed_in: bool
) -> None:
    steps = operation(core())
    try:
        next(steps)
        for answer in (*(SIGNED_IN if signed_in else ()), *answers):
            steps.send(answer)
    except (StopIteration, MailboxError):
        pass


# --- what it takes ---------------------------------------------------------------------------------------------------


def python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE, check=False)


def test_sending_does_not_need_httpx() -> None:
    done = python("import sys; sys.modules['httpx'] = None; from postroom.client import Sender; print(Sender)")
    assert done.returncode == 0, done.stderr


def test_a_missing_httpx_is_reported_with_the_install_command() -> None:
    done = python("import sys; sys.modules['httpx'] = None; from postroom.client import Mailbox")
    assert "pip install httpx" in done.stderr
