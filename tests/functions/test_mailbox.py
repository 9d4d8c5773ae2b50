"""functions/mailbox: the mailbox API over HTTP."""

import base64
import json
import logging
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from tests.aws import Deployed
from tests.functions.delivery_service import open_service
from tests.functions.logs import log_lines, metrics
from tests.functions.samples import (
    ALICE,
    BOB,
    MADE_AT,
    RECEIVER,
    SERVICE,
    http,
    profile_uri,
    published_key,
    service_keys,
    user_keys,
)
from tests.functions.stack import FunctionsStack, Json, functions_stack

from postroom.api.schemas import MAX_PART_BYTES
from postroom.protocols.dm3.profile import UserProfile
from postroom.storage.directory.domains import Directory, Dm3Mailbox, Domain
from postroom.storage.layout import row_key
from postroom.storage.mail.segments import Line, lay_out

HOST = "https://nlweb.receiver.example"
PAGE, OTHER = "https://app.example", "https://evil.example"
ENVELOPE = '{"🤝":"nlweb.org/MSG:1.0"}'


@pytest.fixture
def opened(deployed: Deployed) -> Deployed:
    """A deployment with a mailbox of each protocol, its keys set or in a profile."""
    open_service(
        deployed, service_keys(), {name: profile_uri(user_keys(name)) for name in (ALICE, BOB)}, [Dm3Mailbox(BOB)]
    )
    key = base64.b64encode(published_key().public.spki()).decode()
    deployed.storage.mailboxes.set_keys(RECEIVER, [key])
    return deployed


@pytest.fixture
def running(opened: Deployed) -> Iterator[FunctionsStack]:
    with functions_stack(opened) as started:
        yield started


def file(deployed: Deployed, text: str, number: int = 1) -> None:
    key = row_key(RECEIVER, 1, MADE_AT * 1000, f"{number:032x}")
    data, [place] = lay_out([Line(key, "b.com", text, {})], f"seg/{number}")
    deployed.storage.objects.put(f"seg/{number}", data)
    deployed.storage.register.file(key, place, "b.com")


def ask(
    running: FunctionsStack,
    method: str,
    path: str,
    body: object = None,
    headers: Mapping[str, str] | None = None,
    token: str = "",
) -> Json:
    data = b"" if body is None else json.dumps(body).encode()
    given = {"content-type": "application/json", **(headers or {})}
    if token:
        given["authorization"] = f"Bearer {token}"
    answer: Json = running.invoke("MailboxFunction", http(method, HOST + path, MADE_AT, data, given))
    return answer


def said(answer: Json) -> Any:
    assert (answer["statusCode"], answer["headers"]["Content-Type"]) == (200, "application/json"), answer
    body = base64.b64decode(answer["body"]) if answer["isBase64Encoded"] else answer["body"]
    return json.loads(body)


def sign_in(running: FunctionsStack, name: str = RECEIVER) -> str:
    key: Any = published_key() if name == RECEIVER else user_keys(name).signing
    challenge = said(ask(running, "GET", f"/auth/{name}"))
    signature = base64.b64encode(key.sign(challenge.encode())).decode()
    token: str = said(ask(running, "POST", f"/auth/{name}", {"challenge": challenge, "signature": signature}))
    return token


def keep(running: FunctionsStack, token: str, key: str, data: bytes) -> Json:
    """A container of the mailbox, whatever is under its key."""
    headers = {"content-type": "application/octet-stream", "authorization": f"Bearer {token}"}
    at = f"{HOST}/storage/{RECEIVER}/containers/{key}"
    there = running.invoke("MailboxFunction", http("HEAD", at, MADE_AT, b"", headers))["headers"].get("ETag")
    condition = {"if-match": there} if there else {"if-none-match": "*"}
    answer: Json = running.invoke("MailboxFunction", http("PUT", at, MADE_AT, data, {**headers, **condition}))
    return answer


def test_an_owner_signs_in_reads_and_acknowledges_by_calls_that_the_role_allows(
    opened: Deployed, running: FunctionsStack
) -> None:
    file(opened, ENVELOPE)
    token = sign_in(running)
    at = f"/mailboxes/{RECEIVER}"
    [message] = said(ask(running, "GET", f"{at}/messages?limit=5", token=token))["messages"]
    assert message["envelope"] == ENVELOPE
    for path in (f"/messages/{message['id']}", f"/messages/{message['id']}/envelope", "/conversations", "/status"):
        assert said(ask(running, "GET", at + path, token=token))
    done = said(ask(running, "POST", f"{at}/acknowledgements", {"ids": [message["id"]]}, token=token))
    assert done["acknowledged"] == [message["id"]]
    assert said(ask(running, "GET", f"{at}/messages", token=token))["messages"] == []
    assert said(ask(running, "POST", f"{at}/sign-out", token=token))


def test_the_owner_of_a_dm3_mailbox_signs_in_by_the_profile_and_sets_settings(running: FunctionsStack) -> None:
    token, at = sign_in(running, BOB), f"/mailboxes/{BOB}/settings"
    answer = ask(running, "GET", at, token=token)
    headers = {"content-type": "application/merge-patch+json", "if-match": answer["headers"]["ETag"]}
    assert said(ask(running, "PATCH", at, {"unverified": True}, headers, token))["unverified"] is True
    assert said(ask(running, "GET", f"/delivery/messages/incoming/{BOB}/", token=token)) == []
    wanted = {"acknowledgements": [{"contactAddress": ALICE, "messageHash": "0x12"}]}
    done = ask(running, "POST", f"/delivery/messages/{BOB}/syncAcknowledgements/", wanted, token=token)
    assert (done["statusCode"], done["body"]) == (200, "null")


def test_an_owner_of_a_domain_sets_blocks_and_subjects_by_calls_that_the_role_allows(
    opened: Deployed, running: FunctionsStack
) -> None:
    opened.storage.operators.put_domain(Domain(RECEIVER))
    token, at = sign_in(running), f"/mailboxes/{RECEIVER}/settings"
    headers = {"content-type": "application/merge-patch+json"}
    headers["if-match"] = ask(running, "GET", at, token=token)["headers"]["ETag"]
    wanted = {"blocks": ["*.spam.example"], "subjects": {"Order@Shop": RECEIVER}}
    assert said(ask(running, "PATCH", at, wanted, headers, token)).items() >= wanted.items()
    assert said(ask(running, "GET", at, token=token)).items() >= wanted.items()


def test_a_mailbox_is_opened_by_its_profile_by_calls_that_the_role_allows(opened: Deployed) -> None:
    with functions_stack(opened, Dm3SelfRegistration=SERVICE) as running:
        challenge = said(ask(running, "GET", f"/auth/{ALICE}?purpose=open"))
        signature = base64.b64encode(user_keys(ALICE).signing.sign(challenge.encode())).decode()
        body = {"challenge": challenge, "signature": signature}
        token = said(ask(running, "POST", f"/mailboxes/{ALICE}", body))
        assert said(ask(running, "GET", f"/mailboxes/{ALICE}/messages", token=token))["messages"] == []
        keys = user_keys(ALICE)
        profile = UserProfile(keys.encryption.public, keys.signing.public, (SERVICE,)).as_json()
        assert said(ask(running, "POST", f"/profile/{ALICE}", {"profile": profile, "signature": "0x"})) == ""
    directory = Directory(opened.clients.dynamodb, opened.tables["DirectoryTable"], clock=lambda: 0.0, cache_seconds=0)
    assert directory.dm3_mailbox(ALICE) == Dm3Mailbox(ALICE, by_owner=True)


def test_an_owner_keeps_containers_by_calls_that_the_role_allows(running: FunctionsStack) -> None:
    token, at, key = sign_in(running), f"/storage/{RECEIVER}", f"0x{1:064x}"
    kept = keep(running, token, key, b"\x00\xff sealed")
    kept = keep(running, token, key, b"\xff\x00 sealed")
    assert said(kept)["size"] == 9
    found = ask(running, "GET", f"{at}/containers/{key}", token=token)
    assert (found["statusCode"], found["isBase64Encoded"]) == (200, True)
    assert base64.b64decode(found["body"]) == b"\xff\x00 sealed"
    assert found["headers"]["ETag"] == kept["headers"]["ETag"]
    head = ask(running, "HEAD", f"{at}/containers/{key}", token=token)
    # API Gateway sends the length of the body, and no body.
    assert {**head, "body": len(head["body"])} == {**found, "body": len(found["body"])}
    bytes_of = {"content-type": "application/octet-stream", "authorization": f"Bearer {token}"}
    part = said(running.invoke("MailboxFunction", http("POST", f"{HOST}{at}/parts", MADE_AT, b"part", bytes_of)))
    headers = {"if-match": kept["headers"]["ETag"]}
    joined = ask(running, "PUT", f"{at}/containers/{key}/parts", {"parts": [part["part"]]}, headers, token)
    assert said(joined)["size"] == 4
    assert [each["key"] for each in said(ask(running, "GET", f"{at}/containers", token=token))["containers"]] == [key]
    gone = ask(running, "DELETE", f"{at}/containers/{key}", headers={"if-match": "*"}, token=token)
    assert (gone["statusCode"], gone["body"]) == (200, "null")
    assert said(ask(running, "GET", at, token=token))["bytes"] == 0


def test_lambda_takes_the_largest_request_and_the_largest_response(running: FunctionsStack) -> None:
    token, key, data = sign_in(running), f"0x{1:064x}", b"\xff" * MAX_PART_BYTES
    assert said(keep(running, token, key, data))["size"] == len(data)
    answer = ask(running, "GET", f"/storage/{RECEIVER}/containers/{key}", token=token)
    assert base64.b64decode(answer["body"]) == data
    assert len(json.dumps(answer)) < 6 * 1024 * 1024
    event = http("PUT", f"{HOST}/storage/{RECEIVER}/containers/{key}", MADE_AT, data, {})
    assert len(json.dumps(event)) < 6 * 1024 * 1024
    assert json.loads(keep(running, token, key, data + b"x")["body"])["reason"] == "ContainerTooLarge"


def test_a_large_page_is_sent_so_that_lambda_can_return_it(opened: Deployed, running: FunctionsStack) -> None:
    for number in range(3):
        file(opened, json.dumps(["\U0001f91d" * 200_000, number], ensure_ascii=False), number)
    answer = ask(running, "GET", f"/mailboxes/{RECEIVER}/messages?bytes=4000000", token=sign_in(running))
    assert answer["isBase64Encoded"] is True
    assert len(said(answer)["messages"]) == 3
    assert len(json.dumps(answer)) < 6 * 1024 * 1024


def test_the_largest_page_of_all_is_one_that_lambda_can_return(opened: Deployed, running: FunctionsStack) -> None:
    # Each character is two in JSON: the worst that a sender can do.
    file(opened, json.dumps('"' * 999_000), 1)
    file(opened, json.dumps('"' * 999_000), 2)
    answer = ask(running, "GET", f"/mailboxes/{RECEIVER}/messages?bytes=4000000", token=sign_in(running))
    assert said(answer)["messages"]
    assert len(json.dumps(answer)) < 6 * 1024 * 1024


def test_a_part_may_begin_and_end_within_a_character(opened: Deployed, running: FunctionsStack) -> None:
    text = json.dumps({"Body": "\U0001f91d" * 20}, ensure_ascii=False)
    file(opened, text)
    token, at = sign_in(running), f"/mailboxes/{RECEIVER}/messages"
    [message] = said(ask(running, "GET", at, token=token))["messages"]
    data, whole = b"", len(text.encode())
    while len(data) < whole:
        headers = {"range": f"bytes={len(data)}-{min(len(data) + 9, whole)}"}
        part = ask(running, "GET", f"{at}/{message['id']}/envelope", headers=headers, token=token)
        assert part["statusCode"] == 206
        data += base64.b64decode(part["body"])
    assert data.decode() == text


def test_head_is_answered_as_get_so_that_its_length_is_known(running: FunctionsStack) -> None:
    """API Gateway sends the length of the body, and not the body."""
    assert ask(running, "HEAD", "/openapi.json") == ask(running, "GET", "/openapi.json")


def test_a_web_page_may_send_and_read_the_headers_that_it_needs(running: FunctionsStack) -> None:
    preflight = ask(running, "OPTIONS", f"/mailboxes/{RECEIVER}/messages", headers={"origin": PAGE})
    assert preflight["statusCode"] == 204
    assert preflight["headers"]["Access-Control-Allow-Origin"] == "*"
    assert "authorization" in preflight["headers"]["Access-Control-Allow-Headers"]
    assert "PATCH" in preflight["headers"]["Access-Control-Allow-Methods"]
    answer = ask(running, "GET", f"/auth/{RECEIVER}", headers={"origin": PAGE})
    assert answer["headers"]["Access-Control-Allow-Origin"] == "*"
    assert "etag" in answer["headers"]["Access-Control-Expose-Headers"]


def test_the_operator_may_exclude_web_pages(opened: Deployed) -> None:
    with functions_stack(opened, MailboxApiCorsOrigins=PAGE) as running:
        for origin, allowed in ((PAGE, True), (OTHER, False)):
            for method in ("GET", "OPTIONS"):
                answer = ask(running, method, f"/auth/{RECEIVER}", headers={"origin": origin})
                assert (answer["headers"].get("Access-Control-Allow-Origin") == origin) is allowed


def test_a_body_in_base64_is_read_and_one_that_is_no_text_is_refused(running: FunctionsStack) -> None:
    event = http("POST", f"{HOST}/auth/{RECEIVER}", MADE_AT, b"\xff\xfe", {"content-type": "application/json"})
    assert event["isBase64Encoded"] is True
    assert json.loads(running.invoke("MailboxFunction", event)["body"])["reason"] == "NotARequest"


def test_a_refusal_is_a_problem_document_and_counted_by_reason(
    running: FunctionsStack, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = ask(running, "GET", f"/mailboxes/{RECEIVER}/status")
    assert (answer["statusCode"], answer["headers"]["Content-Type"]) == (401, "application/problem+json")
    printed = capsys.readouterr().out
    assert metrics(printed)["MailboxApiRefusedTokenInvalid"] == [1]
    assert RECEIVER not in json.dumps(log_lines(printed)), "who asks for a mailbox need not have it"


def test_no_token_and_no_key_is_printed(
    opened: Deployed, running: FunctionsStack, capsys: pytest.CaptureFixture[str]
) -> None:
    token = sign_in(running)
    ask(running, "GET", f"/mailboxes/{RECEIVER}/status", token=token + "x")
    ask(running, "GET", f"/mailboxes/{RECEIVER}/status", token=token)
    secret = opened.clients.secrets.get_secret_value(SecretId=opened.secrets["TokenKeys"])["SecretString"]
    printed = capsys.readouterr().out
    for hidden in (token.rpartition(".")[2], json.loads(secret)["0"]):
        assert hidden not in printed


def test_the_openapi_document_has_every_operation(running: FunctionsStack) -> None:
    document = said(ask(running, "GET", "/openapi.json"))
    assert document["openapi"] == "3.1.0"
    assert set(document["paths"]) >= {"/auth/{name}", "/mailboxes/{name}/messages", "/mailboxes/{name}/settings"}
    etag = ask(running, "GET", "/openapi.json")["headers"]["ETag"]
    assert ask(running, "GET", "/openapi.json", headers={"if-none-match": etag})["statusCode"] == 304


def test_a_deployment_without_a_token_key_answers_503(opened: Deployed) -> None:
    opened.clients.secrets.put_secret_value(SecretId=opened.secrets["TokenKeys"], SecretString="{}")
    with functions_stack(opened) as running:
        answer = ask(running, "GET", f"/auth/{RECEIVER}")
    assert answer["statusCode"] == 503
    assert json.loads(answer["body"])["reason"] == "SigningKeyUnavailable"


def test_without_a_registry_nobody_has_a_profile_and_that_is_no_fault(
    deployed: Deployed, caplog: pytest.LogCaptureFixture
) -> None:
    key = base64.b64encode(published_key().public.spki()).decode()
    deployed.storage.mailboxes.set_keys(RECEIVER, [key])
    with functions_stack(deployed) as running:
        assert sign_in(running)
        for name in (RECEIVER, BOB, "nobody.example"):
            challenge = said(ask(running, "GET", f"/auth/{name}"))
            body = {"challenge": challenge, "signature": base64.b64encode(user_keys(BOB).signing.sign(b"x")).decode()}
            assert json.loads(ask(running, "POST", f"/auth/{name}", body)["body"])["reason"] == "NotTheOwner"
    assert [record for record in caplog.records if record.levelno > logging.INFO] == []


def test_a_message_that_cannot_be_read_is_counted(
    opened: Deployed, running: FunctionsStack, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    file(opened, ENVELOPE)
    opened.clients.s3.delete_object(Bucket=opened.bucket, Key="seg/1")
    page = said(ask(running, "GET", f"/mailboxes/{RECEIVER}/messages", token=sign_in(running)))
    assert (page["messages"], len(page["unreadable"])) == ([], 1)
    assert metrics(capsys.readouterr().out)["MailboxApiUnreadable"] == [1]
    assert page["unreadable"][0] in caplog.text


@pytest.mark.parametrize(("reserved", "refused"), [("2", []), ("1", [1])])
def test_a_request_waits_by_calls_that_the_role_allows_and_one_that_may_not_is_counted(
    opened: Deployed, capsys: pytest.CaptureFixture[str], reserved: str, refused: list[int]
) -> None:
    with functions_stack(opened, MailboxApiReservedConcurrency=reserved) as running:
        token = sign_in(running)
        capsys.readouterr()
        answer = ask(running, "GET", f"/mailboxes/{RECEIVER}/messages?wait=0.01", token=token)
    assert said(answer)["messages"] == []
    assert ("Retry-After" in answer["headers"]) is bool(refused)
    assert metrics(capsys.readouterr().out).get("MailboxApiWaitsRefused", []) == refused
