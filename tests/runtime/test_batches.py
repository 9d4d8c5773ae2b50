"""The courier's way through a batch: groups of messages at the same time, and the messages of a group in order."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from aws_lambda_powertools import Logger
from tests.patience import PATIENCE

from postroom.runtime.batches import MESSAGES_AT_ONCE, SqsEvent, process_at_once

Report = Callable[[], None]


def event(*bodies: str) -> SqsEvent:
    """Messages whose group is the first character of their bodies; of no group, if that is a dash."""
    return {
        "Records": [
            {
                "messageId": f"id of {body}",
                "receiptHandle": "",
                "body": body,
                "attributes": {"MessageGroupId": body[0]} if body[0] != "-" else {},
                "eventSourceARN": "",
            }
            for body in bodies
        ]
    }


def processed(batch: SqsEvent, process: Callable[[str], Report]) -> list[str]:
    with ThreadPoolExecutor(MESSAGES_AT_ONCE - 1) as threads:
        return process_at_once(batch, process, threads, Logger("batches"))


@pytest.mark.parametrize("bodies", [("a1", "b1"), ("-1", "-2")], ids=["of two groups", "without groups"])
def test_no_group_waits_for_another(bodies: tuple[str, str]) -> None:
    done = threading.Event()

    def process(body: str) -> Report:
        if body == bodies[0]:
            assert done.wait(PATIENCE)
        else:
            done.set()
        return lambda: None

    assert processed(event(*bodies), process) == []


def test_the_messages_of_a_group_are_processed_in_order() -> None:
    """What the first one writes, such as that a summary was requested, the next one reads."""
    began: list[str] = []

    def process(body: str) -> Report:
        began.append(body)
        if body == "a1":
            # Until the other group is done, the second one of this group could have begun.
            assert done.wait(PATIENCE)
        if body == "b2":
            done.set()
        return lambda: None

    done = threading.Event()
    assert processed(event("a1", "b1", "a2", "b2", "a3"), process) == []
    assert [body for body in began if body[0] == "a"] == ["a1", "a2", "a3"]
    assert began.index("b2") < began.index("a2")


def test_results_are_reported_in_the_thread_of_the_function() -> None:
    """The metrics of Powertools are not safe to share among threads."""
    reported: list[tuple[str, int]] = []

    def process(body: str) -> Report:
        return lambda: reported.append((body, threading.get_ident()))

    assert processed(event("a1", "b1", "c1"), process) == []
    assert sorted(reported) == [(body, threading.get_ident()) for body in ("a1", "b1", "c1")]


def test_those_that_fail_are_delivered_again_and_no_others() -> None:
    reported: list[str] = []

    def process(body: str) -> Report:
        if body in ("a1", "c1"):
            raise ValueError(body)
        return lambda: reported.append(body)

    assert sorted(processed(event("a1", "a2", "b1", "c1"), process)) == ["id of a1", "id of c1"]
    assert sorted(reported) == ["a2", "b1"]


def test_a_message_whose_report_fails_is_delivered_again() -> None:
    def fail() -> None:
        raise ValueError

    assert processed(event("a1", "b1"), lambda body: fail if body == "a1" else lambda: None) == ["id of a1"]
