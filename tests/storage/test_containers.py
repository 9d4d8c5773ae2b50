"""Containers: wherever a writer dies and however many write at once, each is whole, and what is kept is counted."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import count
from threading import Barrier
from typing import Any

import pytest
from botocore.exceptions import ClientError
from botocore.stub import Stubber
from tests.aws import Clients, Deployed, deploy_on, gate_calls, new_clients

from postroom.api.reasons import CHANGED_MEANWHILE, PART_UNKNOWN, STORAGE_FULL
from postroom.core.errors import NotNowError, TheirError
from postroom.core.reason import Reason
from postroom.core.reasons import STORE_UNAVAILABLE
from postroom.local.emulator import Emulator
from postroom.net.aws_errors import CancelledError
from postroom.storage.aws.object_store import ObjectStore
from postroom.storage.containers.rows import StorageUsage, StoredContainer
from postroom.storage.containers.store import CONFLICT_TRIES, PREFIX, Storage

BOB, ALICE = "bob.eth", "alice.eth"
KEY, OTHER = (f"0x{number:064x}" for number in (1, 2))
Json = Any


class Died(BaseException):
    """The writer's process is gone."""


_ids = count(1)


def storage(deployed: Deployed, clients: Clients | None = None, quota: StorageUsage = StorageUsage()) -> Storage:  # noqa: B008
    at = clients or deployed.clients
    objects = ObjectStore(at.s3, deployed.bucket)
    return Storage(at.dynamodb, deployed.tables["StorageTable"], objects, quota, lambda: f"{next(_ids):032x}")


def whole(store: Storage, mailbox: str, key: str) -> bytes | None:
    """What is under a key, read as anybody reads it. KeyError where the row names what is not there."""
    found = store.find(mailbox, key)
    return store.read(found, 0, found.size) if found else None


def named(deployed: Deployed) -> dict[str, int]:
    """The objects that rows name, with the sizes that they say."""
    pieces = [each["M"] for row in deployed.rows("StorageTable") if "pieces" in row for each in row["pieces"]["L"]]
    assert len({piece["object"]["S"] for piece in pieces}) == len(pieces), "two rows name one object"
    return {piece["object"]["S"]: int(piece["size"]["N"]) for piece in pieces}


def check_count(deployed: Deployed, store: Storage, mailbox: str = BOB) -> None:
    """What is counted is what the rows name, and all of that is there."""
    rows = [row for row in deployed.rows("StorageTable") if "pieces" in row and row["pk"]["S"] == mailbox]
    sizes = [int(each["M"]["size"]["N"]) for row in rows for each in row["pieces"]["L"]]
    assert store.use(mailbox) == StorageUsage(len(rows), sum(sizes))
    there = deployed.objects()
    assert {name: len(there[name]) for name in named(deployed)} == named(deployed)


# --- wherever a writer dies -----------------------------------------------------------------------------------------

Step = Callable[[Storage], object]


def kept(store: Storage, key: str = KEY) -> StoredContainer:
    found = store.find(BOB, key)
    assert found is not None
    return found


def put_anew(store: Storage) -> object:
    return store.put(BOB, OTHER, store.find(BOB, OTHER), b"new")


def put_over(store: Storage) -> object:
    return store.put(BOB, KEY, store.find(BOB, KEY), b"after")


def delete(store: Storage) -> object:
    found = store.find(BOB, KEY)
    return found and store.delete(found)


def join(store: Storage) -> object:
    parts = [store.add_part(BOB, data, 1000) for data in (b"af", b"ter")]
    return store.join(BOB, KEY, store.find(BOB, KEY), parts)


def drop(store: Storage) -> object:
    return store.drop_stale(BOB, 500)


WRITES: dict[Step, tuple[str, set[bytes | None], list[str]]] = {
    put_anew: (OTHER, {None, b"new"}, ["GetItem", "PutObject", "TransactWriteItems"]),
    put_over: (KEY, {b"before", b"after"}, ["GetItem", "PutObject", "TransactWriteItems", "DeleteObject"]),
    delete: (KEY, {b"before", None}, ["GetItem", "TransactWriteItems", "DeleteObject"]),
    join: (
        KEY, {b"before", b"after"},
        [*["PutObject", "TransactWriteItems"] * 2, "GetItem", "TransactWriteItems", "DeleteObject"],
    ),
    drop: (KEY, {b"before"}, ["Query", "TransactWriteItems", "DeleteObject"]),
}  # fmt: skip
"""A write; under which key, what may be found there once it has begun; and its calls of AWS."""
DEATHS = [
    (write, number, after)
    for write, (_, _, calls) in WRITES.items()
    for number in range(len(calls))
    for after in (False, True)
]


@pytest.mark.parametrize(("write", "number", "after"), DEATHS)
def test_after_a_writers_death_a_container_is_complete_and_counted_and_the_write_repeatable(
    deployed: Deployed, write: Step, number: int, after: bool
) -> None:
    store = storage(deployed)
    store.put(BOB, KEY, None, b"before")
    store.add_part(BOB, b"stale", 100)
    key, states, expected = WRITES[write]
    calls: list[str] = []

    @contextmanager
    def gate(operation: str) -> Iterator[None]:
        calls.append(operation)
        if len(calls) == number + 1 and not after:
            raise Died
        yield
        if len(calls) == number + 1:
            raise Died

    clients = new_clients()
    gate_calls(clients, gate)
    with pytest.raises(Died):
        write(storage(deployed, clients))
    assert calls == expected[: number + 1]
    assert whole(store, BOB, key) in states
    check_count(deployed, store)
    # What nobody names is no more than what this one write had begun, or was about to delete.
    left = deployed.objects().keys() - named(deployed)
    assert len(left) <= 1
    assert all(name.startswith(PREFIX) for name in left)
    write(store)
    last = {put_anew: b"new", put_over: b"after", join: b"after", drop: b"before", delete: None}[write]
    assert whole(store, BOB, key) == last
    check_count(deployed, store)
    store.drop_stale(BOB, 2000)
    check_count(deployed, store)
    assert deployed.objects().keys() - named(deployed) <= left


@pytest.mark.parametrize("write", WRITES)
def test_an_undisturbed_write_leaves_nothing_that_no_row_names(deployed: Deployed, write: Step) -> None:
    store = storage(deployed)
    store.put(BOB, KEY, None, b"before")
    store.add_part(BOB, b"stale", 100)
    write(store)
    assert deployed.objects().keys() == named(deployed).keys()


def test_a_write_that_was_refused_leaves_nothing(deployed: Deployed) -> None:
    store = storage(deployed, quota=StorageUsage(1, 10))
    old = store.put(BOB, KEY, None, b"before")
    new = store.put(BOB, KEY, old, b"after")
    for late, reason in (
        (lambda: store.put(BOB, KEY, old, b"late"), CHANGED_MEANWHILE),
        (lambda: store.put(BOB, KEY, None, b"late"), CHANGED_MEANWHILE),
        (lambda: store.put(BOB, KEY, new, b"far too much"), STORAGE_FULL),
        (lambda: store.put(BOB, OTHER, None, b""), STORAGE_FULL),
        (lambda: store.add_part(BOB, b"x", 0), STORAGE_FULL),
        (lambda: store.delete(old), CHANGED_MEANWHILE),
    ):
        with pytest.raises(TheirError) as caught:
            late()
        assert caught.value.reason is reason
        assert deployed.objects() == {new.pieces[0].object: b"after"}
        check_count(deployed, store)


def test_one_of_two_who_join_the_same_part_succeeds(deployed: Deployed) -> None:
    store = storage(deployed)
    parts = [store.add_part(BOB, b"part", 0)]
    store.join(BOB, KEY, None, parts)
    with pytest.raises(TheirError) as caught:
        store.join(BOB, OTHER, None, parts)
    assert caught.value.reason is PART_UNKNOWN
    store.drop(parts)
    assert whole(store, BOB, KEY) == b"part"
    check_count(deployed, store)


def test_a_limited_number_of_stale_parts_is_dropped_at_once_the_oldest_first(
    deployed: Deployed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("postroom.storage.containers.store.DROPPED_AT_ONCE", 2)
    store = storage(deployed)
    for at in (30, 10, 1000, 20):
        store.add_part(BOB, b"%d" % at, at)
    assert store.drop_stale(BOB, 500)
    assert sorted(deployed.objects().values()) == [b"1000", b"30"]
    assert store.drop_stale(BOB, 500)
    assert not store.drop_stale(BOB, 500)
    assert store.use(BOB) == StorageUsage(1, 4)
    check_count(deployed, store)


# --- faults ---------------------------------------------------------------------------------------------------------


def stubbed(deployed: Deployed) -> tuple[Storage, Stubber, Clients]:
    clients = new_clients()
    return storage(deployed, clients), Stubber(clients.dynamodb), clients


def cancel(stub: Stubber, *codes: str) -> None:
    stub.add_client_error(
        "transact_write_items", "TransactionCanceledException", http_status_code=400,
        modeled_fields={"CancellationReasons": [{"Code": code} for code in codes]},
    )  # fmt: skip


def test_a_conflict_of_two_writers_is_tried_again(deployed: Deployed) -> None:
    store, stub, _ = stubbed(deployed)
    cancel(stub, "TransactionConflict", "None")
    stub.add_response("transact_write_items", {})
    with stub:
        store.put(BOB, KEY, None, b"sealed")
    stub.assert_no_pending_responses()
    assert list(deployed.objects().values()) == [b"sealed"]


@pytest.mark.parametrize("codes", [("TransactionConflict", "None"), ("None", "ThrottlingError")])
def test_endless_conflicts_are_a_not_now_error_and_leave_nothing(deployed: Deployed, codes: tuple[str, ...]) -> None:
    store, stub, _ = stubbed(deployed)
    for _ in range(CONFLICT_TRIES):
        cancel(stub, *codes)
    with stub, pytest.raises(NotNowError) as caught:
        store.put(BOB, KEY, None, b"sealed")
    assert caught.value.reason is STORE_UNAVAILABLE
    stub.assert_no_pending_responses()
    assert deployed.objects() == {}


def test_a_transaction_with_an_unknown_result_keeps_its_object(deployed: Deployed) -> None:
    """It may have been made: to delete the object then would lose what somebody was told of."""
    store, stub, _ = stubbed(deployed)
    stub.add_client_error("transact_write_items", "InternalServerError", http_status_code=500)
    with stub, pytest.raises(NotNowError):
        store.put(BOB, KEY, None, b"sealed")
    assert list(deployed.objects().values()) == [b"sealed"]


def test_our_own_mistake_is_not_a_temporary_fault(deployed: Deployed) -> None:
    store, stub, _ = stubbed(deployed)
    for _ in range(CONFLICT_TRIES):
        cancel(stub, "ValidationError", "None")
    with stub, pytest.raises(CancelledError, match="ValidationError"):
        store.put(BOB, KEY, None, b"sealed")


def test_an_old_object_that_cannot_be_deleted_now_does_no_harm(deployed: Deployed) -> None:
    clients = new_clients()

    @contextmanager
    def gate(operation: str) -> Iterator[None]:
        if operation == "DeleteObject":
            raise ClientError({"Error": {"Code": "SlowDown"}}, operation)
        yield

    gate_calls(clients, gate)
    store = storage(deployed, clients)
    store.put(BOB, KEY, store.put(BOB, KEY, None, b"before"), b"after")
    assert whole(store, BOB, KEY) == b"after"
    assert sorted(deployed.objects().values()) == [b"after", b"before"]
    check_count(deployed, store)


# --- many at once ---------------------------------------------------------------------------------------------------

WRITERS = 50


@pytest.fixture(scope="module")
def ministack() -> Iterator[Deployed]:
    with Emulator() as emulator:
        yield deploy_on(emulator.clients("700000000001"))


@pytest.fixture(
    params=[pytest.param("ministack", id="MiniStack", marks=pytest.mark.stack), pytest.param("deployed", id="moto")]
)
def there(request: pytest.FixtureRequest) -> Deployed:
    found: Deployed = request.getfixturevalue(request.param)
    return found


def at_once(write: Callable[[int], object]) -> list[Reason | None]:
    """What became of each of many writers, who all begin together."""
    together = Barrier(WRITERS)

    def race(number: int) -> Reason | None:
        together.wait()
        while True:
            try:
                write(number)
            except TheirError as error:
                return error.reason
            except NotNowError:
                continue
            return None

    with ThreadPoolExecutor(WRITERS) as pool:
        return list(pool.map(race, range(WRITERS)))


@pytest.mark.parametrize("quota", [StorageUsage(7, 0), StorageUsage(0, 75)], ids=["containers", "bytes"])
def test_fifty_writers_at_the_quota_fill_it_and_not_a_byte_more(there: Deployed, quota: StorageUsage) -> None:
    mailbox, store = f"{quota}.eth", storage(there, quota=quota)
    became = at_once(lambda number: store.put(mailbox, f"0x{number:064x}", None, b"0123456789"))
    assert became.count(None) == 7
    assert became.count(STORAGE_FULL) == WRITERS - 7
    assert store.use(mailbox) == StorageUsage(7, 70)
    check_count(there, store, mailbox)
    assert there.objects().keys() == named(there).keys()


def test_one_of_fifty_who_replace_a_container_succeeds(there: Deployed) -> None:
    mailbox, store = "over.eth", storage(there)
    old = store.put(mailbox, KEY, None, b"before")
    became = at_once(lambda number: store.put(mailbox, KEY, old, b"%d" % number))
    [winner] = [number for number, reason in enumerate(became) if reason is None]
    assert became.count(CHANGED_MEANWHILE) == WRITERS - 1
    assert whole(store, mailbox, KEY) == b"%d" % winner
    check_count(there, store, mailbox)
    assert there.objects().keys() == named(there).keys()
