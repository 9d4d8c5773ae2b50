"""The ground of the store protocol, held under the emulators that other tests stand on: a condition has one winner."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from botocore.exceptions import ClientError
from tests.aws import Deployed, deploy_on

from postroom.local.emulator import Emulator
from postroom.net.aws_errors import error_code

THREADS = 50
ROUNDS = 5


@pytest.fixture(scope="module")
def ministack() -> Iterator[Deployed]:
    with Emulator() as emulator:
        yield deploy_on(emulator.clients("700000000000"))


@pytest.fixture(
    params=[pytest.param("ministack", id="MiniStack", marks=pytest.mark.stack), pytest.param("deployed", id="moto")]
)
def store(request: pytest.FixtureRequest) -> Deployed:
    found: Deployed = request.getfixturevalue(request.param)
    return found


def winners(write: Callable[[str], object], refused: str) -> list[str]:
    """Who of many, each in a thread of its own, got through; the others were refused by the condition."""
    together = Barrier(THREADS)

    def race(number: int) -> str | None:
        together.wait()
        try:
            write(f"{number}")
        except ClientError as error:
            if error_code(error) == refused:
                return None
            raise
        return f"{number}"

    with ThreadPoolExecutor(THREADS) as pool:
        return [winner for winner in pool.map(race, range(THREADS)) if winner is not None]


def test_a_put_if_absent_has_one_winner_whose_row_stays(store: Deployed) -> None:
    for number in range(ROUNDS):
        [winner] = winners(
            lambda who, key=f"{number}": store.clients.dynamodb.put_item(  # type: ignore[misc]
                TableName=store.tables["SeenTable"],
                Item={"pk": {"S": key}, "who": {"S": who}},
                ConditionExpression="attribute_not_exists(pk)",
            ),
            "ConditionalCheckFailedException",
        )
        assert store.item("SeenTable", pk=f"{number}") == {"pk": {"S": f"{number}"}, "who": {"S": winner}}


def test_a_conditional_update_has_one_winner_and_shows_the_others_the_stored_row(store: Deployed) -> None:
    dynamodb, table = store.clients.dynamodb, store.tables["SeenTable"]
    for number in range(ROUNDS):
        key = {"pk": {"S": f"update {number}"}}
        dynamodb.put_item(TableName=table, Item=key)
        [winner] = winners(
            lambda who, key=key: dynamodb.update_item(  # type: ignore[misc]
                TableName=table,
                Key=key,
                UpdateExpression="SET who = :who",
                ConditionExpression="attribute_exists(pk) AND attribute_not_exists(who)",
                ExpressionAttributeValues={":who": {"S": who}},
            ),
            "ConditionalCheckFailedException",
        )
        assert store.item("SeenTable", pk=f"update {number}") == {**key, "who": {"S": winner}}


def test_counting_loses_no_count(store: Deployed) -> None:
    dynamodb, table = store.clients.dynamodb, store.tables["LimitsTable"]
    with ThreadPoolExecutor(THREADS) as pool:
        for done in [
            pool.submit(
                dynamodb.update_item,
                TableName=table,
                Key={"pk": {"S": "count"}},
                UpdateExpression="ADD sent :one",
                ExpressionAttributeValues={":one": {"N": "1"}},
            )
            for _ in range(THREADS)
        ]:
            done.result()
    assert store.item("LimitsTable", pk="count") == {"pk": {"S": "count"}, "sent": {"N": f"{THREADS}"}}


def test_an_object_put_if_absent_has_one_winner_whose_bytes_stay(store: Deployed) -> None:
    for number in range(ROUNDS):
        [winner] = winners(
            lambda who, name=f"seg/{number}": store.clients.s3.put_object(  # type: ignore[misc]
                Bucket=store.bucket, Key=name, Body=who.encode(), IfNoneMatch="*"
            ),
            "PreconditionFailed",
        )
        assert store.objects()[f"seg/{number}"] == winner.encode()
