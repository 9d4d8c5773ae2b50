import socket
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from tests.patience import PATIENCE

from postroom.core.errors import OurError
from postroom.local import emulator as module
from postroom.local.clients import Clients
from postroom.local.emulator import Emulator
from postroom.local.ports import HOST, free_port, require_free


def test_accounts_are_separate(stack) -> None:
    mine, yours = stack.emulator.clients("111111111111"), stack.emulator.clients("222222222222")
    mine("sqs").create_queue(QueueName="mine")
    assert mine("sqs").list_queues()["QueueUrls"]
    assert "QueueUrls" not in yours("sqs").list_queues() or not yours("sqs").list_queues()["QueueUrls"]


def test_it_listens_on_loopback_alone(stack) -> None:
    addresses = {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)}
    for address in addresses - {"127.0.0.1"}:
        if address.startswith("127."):
            continue
        with closing(socket.socket()) as probe:
            assert probe.connect_ex((address, stack.emulator.port)) != 0
    with closing(socket.create_connection((HOST, stack.emulator.port))):
        pass


@pytest.mark.stack
def test_functions_inherit_nothing_of_the_shell(monkeypatch, template, ask) -> None:
    from postroom.local.deploy import deploy

    for name in ("AWS_CA_BUNDLE", "AWS_PROFILE", "HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "REQUESTS_CA_BUNDLE"):
        monkeypatch.setenv(name, "/nowhere")
    with Emulator() as emulator:
        clients = emulator.clients("111111111111")
        outputs = deploy(template, "clean", clients).outputs
        environment = set(ask(clients, outputs["Inbox"], "where")["environment"])
    assert not environment & {"AWS_CA_BUNDLE", "AWS_PROFILE", "HTTP_PROXY", "HTTPS_PROXY", "http_proxy"}
    assert "AWS_ENDPOINT_URL" in environment


@pytest.mark.stack
def test_after_the_end_no_port_and_no_file_is_left() -> None:
    with Emulator() as emulator:
        assert emulator.directory.is_dir()
    assert not emulator.directory.exists()
    assert require_free(emulator.port, "the test") == emulator.port


@pytest.mark.stack
def test_stopping_twice_does_nothing() -> None:
    emulator = Emulator()
    emulator.start()
    emulator.stop()
    emulator.stop()


def test_a_port_that_is_taken_is_named() -> None:
    with closing(socket.create_server((HOST, 0))) as other:
        port = other.getsockname()[1]
        emulator = Emulator(port=port)
        with pytest.raises(OurError, match=str(port)):
            emulator.start()
        emulator.stop()
        assert not emulator.directory.exists()


@pytest.mark.stack
def test_state_survives(tmp_path: Path) -> None:
    port = free_port()
    with Emulator(port=port, state_dir=tmp_path) as first:
        clients = first.clients("111111111111")
        clients("s3").create_bucket(Bucket="kept")
        clients("s3").put_object(Bucket="kept", Key="k", Body=b"bytes")
        url = clients("sqs").create_queue(QueueName="kept")["QueueUrl"]
        clients("sqs").send_message(QueueUrl=url, MessageBody="waiting")
    with Emulator(port=port, state_dir=tmp_path) as second:
        clients = second.clients("111111111111")
        assert clients("s3").get_object(Bucket="kept", Key="k")["Body"].read() == b"bytes"
        messages = clients("sqs").receive_message(QueueUrl=url)["Messages"]
        assert [message["Body"] for message in messages] == ["waiting"]


def test_a_message_group_on_a_standard_queue_is_handed_on_and_holds_nothing_up(
    fresh_account: Callable[[], Clients],
) -> None:
    """As on AWS, where only FIFO queues hand out a group's messages one after another."""
    sqs = fresh_account()("sqs")
    url = sqs.create_queue(QueueName="fair")["QueueUrl"]
    for number in range(4):
        sqs.send_message(QueueUrl=url, MessageBody=str(number), MessageGroupId="somebody")
    rounds = [
        sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=2, MessageSystemAttributeNames=["All"])["Messages"]
        for _ in range(2)
    ]
    messages = [message for messages in rounds for message in messages]
    assert {message["Body"] for message in messages} == {"0", "1", "2", "3"}
    assert {message["Attributes"]["MessageGroupId"] for message in messages} == {"somebody"}


@pytest.mark.stack
def test_a_state_directory_has_one_user_at_a_time(tmp_path: Path, monkeypatch) -> None:
    with Emulator(state_dir=tmp_path):
        monkeypatch.setattr(module, "GRACE_SECONDS", -3.0)
        second = Emulator(state_dir=tmp_path)
        with pytest.raises(OurError, match="in use by another stack"):
            second.start()
        second.stop()


@pytest.mark.stack
def test_the_leash_clean_up_needs_no_supervisor() -> None:
    """The process that holds the emulator is killed: the emulator ends all the same."""
    emulator = Emulator()
    emulator.start()
    emulator._supervisor.kill()
    emulator.stop()
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        try:
            require_free(emulator.port, "the test")
            break
        except OurError:
            time.sleep(0.05)
    assert require_free(emulator.port, "the test")
    assert not emulator.directory.exists()
