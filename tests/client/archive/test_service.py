"""Service storage as an archive's home: the real mailbox client with the real mailbox API."""

import json
import re
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import httpx
import pytest
from hypothesis import settings
from moto import mock_aws
from tests.aws import deploy, new_clients
from tests.client.archive.mail import HELLO, KEYS, STORAGE_KEY, USERS, archive, filled
from tests.client.archive.test_devices import (
    SCENES,
    Device,
    OpenHome,
    TwoDevices,
    by_partner,
    check_archive,
    check_end,
    filing,
)
from tests.client.mailbox_net import Host, Open, busy, lost_after, lost_before
from tests.http.api_stack import BOB, BOB_KEY, SHOP, SHOP_KEY, ApiStack, Owner
from tests.protocols.dm3.stored_mail import ALICE
from tests.tiers import examples, in_turns

from postroom.api import schemas
from postroom.client.archive import Archive, ConflictError, FolderHome, MemoryHome, copy, home, verify
from postroom.client.archive.filing import run
from postroom.client.archive.moving import move, vacate
from postroom.client.archive.ownership import KEY as DEED
from postroom.client.archive.ownership import NotThisHomeError, check_ownership, take_home
from postroom.client.archive.service import ServiceHome
from postroom.client.mailbox import (
    ChangedMeanwhileError,
    Mailbox,
    NotTheOwnerError,
    RefusedError,
    StorageFullError,
    UnavailableError,
    UnexpectedAnswerError,
)
from postroom.client.mailbox import containers as steps
from postroom.core.errors import NotNowError
from postroom.core.reasons import STORE_UNAVAILABLE
from postroom.http import containers
from postroom.http.rate_limit import Rate
from postroom.protocols.dm3.keys import UserKeys
from postroom.protocols.dm3.stored import Entry
from postroom.storage.containers.rows import StorageUsage

PAGE = Path(__file__).parents[3] / "docs" / "receive" / "storage.md"
KEY, OTHER = (f"0x{number:064x}" for number in (1, 2))
LARGE = bytes(range(256))


@pytest.fixture
def mailbox(host: Host) -> Iterator[Mailbox]:
    with host.open() as opened:
        yield opened


@pytest.fixture
def service(mailbox: Mailbox) -> ServiceHome:
    return ServiceHome(mailbox)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A request and an answer hold 100 bytes."""
    for module in (containers, steps):
        monkeypatch.setattr(module, "MAX_PART_BYTES", 100)


def put_by_another(api: ApiStack, data: bytes) -> None:
    """Another device of the owner's writes, over whatever is there."""
    owner = Owner(api, SHOP, SHOP_KEY)
    at, headers = f"/storage/{SHOP}/containers/{KEY}", {"if-match": "*"}
    assert api.ask("PUT", at, token=owner.token, body=data, headers=headers).status == 200


# --- an archive in it -----------------------------------------------------------------------------------------------


def test_an_archive_moves_to_service_storage_and_back(service: ServiceHome) -> None:
    source, kept, back = filled(), archive(service), archive(MemoryHome())
    copy(source, kept)
    copy(kept, back)
    for target in (kept, back):
        assert target.conversations() == source.conversations()
        assert [target.open(each) for each in source.conversations()] == [
            source.open(each) for each in source.conversations()
        ]


def test_an_archive_moves_from_a_folder_to_the_service_and_into_another_folder(
    tmp_path: Path, api: ApiStack, service: ServiceHome
) -> None:
    api.bearers._rate = Rate(1_000_000, api.clock)
    source = filled(FolderHome(tmp_path / "old"))
    take_home(source)
    whole = everything(source)
    kept, back = archive(service), archive(FolderHome(tmp_path / "new"))
    for old, new, to in ((source, kept, "https://there"), (kept, back, "new")):
        move(old, new, to, {to: new.home}.__getitem__)
        vacate(old, new)
        assert everything(new) == whole
        assert verify(new, KEYS).flaws == []
        with pytest.raises(NotThisHomeError, match=f"--home {to}"):
            check_ownership(old)
    assert len(list((tmp_path / "old").glob("0x*"))) == 1
    assert api.storage(api.deployed.clients).use(SHOP).containers == 1


@pytest.mark.parametrize("first", in_turns(range(4), quick=4, all=2))
def test_a_move_completes_whichever_response_to_a_write_is_lost(
    host: Host, api: ApiStack, mailbox: Mailbox, first: int
) -> None:
    api.bearers._rate = Rate(1_000_000, api.clock)
    service = OpenService(mailbox)
    for nth in count(first, 4):
        for key in service.containers():
            service.delete(key)
        source, target, back = archive(), archive(service), archive(MemoryHome())
        source.store([HELLO])
        take_home(source)
        writes = count()

        def lose(request: httpx.Request, _: httpx.Response, nth: int = nth, writes: Iterator[int] = writes) -> None:
            if request.method in ("PUT", "DELETE") and next(writes) == nth:
                raise httpx.ReadError("cut off", request=request)

        host.watch = lose
        move(source, target, "https://there", {"https://there": service}.__getitem__)
        vacate(source, target)
        move(target, back, "back", {"back": back.home}.__getitem__)
        vacate(target, back)
        assert everything(back) == {ALICE: [HELLO]}
        assert list(service.containers()) == [DEED]
        if next(writes) <= nth:
            break
    assert nth > 5


def everything(mine: Archive) -> dict[str, list[Entry]]:
    return {partner: mine.open(partner) for partner in mine.conversations()}


def test_the_service_sees_only_keys_and_sealed_bytes(api: ApiStack, service: ServiceHome) -> None:
    filled(service)
    stored = repr(api.deployed.dump())
    for word in ("alice", "hello", "carol", "DELETE_REQUEST"):
        assert word not in stored


def test_homes_and_the_service_have_the_same_largest_container() -> None:
    assert home.MAX_CONTAINER_BYTES == schemas.MAX_CONTAINER_BYTES


def test_the_commands_of_the_page_move_an_archive(
    host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    [block] = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    monkeypatch.chdir(tmp_path)
    Path("bob.eth.json").write_text(json.dumps(UserKeys(BOB_KEY, UserKeys.random().encryption).as_json()))
    filled(FolderHome(Path("archive")))
    monkeypatch.setattr(httpx.HTTPTransport, "handle_request", lambda _, request: host(request))
    exec(block, {"signature": USERS[BOB].signing.sign(BOB.encode()), "storage_key": STORAGE_KEY})
    told = capsys.readouterr().out
    assert told.startswith("('alice.eth', 'carol.eth') ")
    assert int(told.split()[-1]) > 1000


class OpenService(ServiceHome):
    """With what a test looks at."""

    def containers(self) -> dict[str, bytes]:
        found = {each.key: self.get(each.key) for each in self._mailbox.containers()}
        return {key: each.data for key, each in found.items() if each}


@pytest.mark.parametrize("first", in_turns(range(1, 5), quick=4, all=2))
@pytest.mark.parametrize("scene", ["both begin a conversation", "both bring a late message", "one moves and fills"])
def test_two_devices_store_everything_wherever_one_of_them_stops(
    host: Host, api: ApiStack, mailbox: Mailbox, scene: str, first: int
) -> None:
    api.bearers._rate = Rate(1_000_000, api.clock)
    size, there, *brought = SCENES[scene]
    written, stops = [*there, *brought[0], *brought[1]], 0
    for calls in range(first, 40, 4):
        service = OpenService(mailbox)
        for key in service.containers():
            service.delete(key)
        run(filing(size).store(by_partner(there)), service)
        devices = [Device(filing(size), {envelope.message_hash: envelope for envelope in each}) for each in brought]
        stopped = devices[0].run(service, calls) == calls
        stops += stopped
        for device in reversed(devices):
            device.finish(service)
            check_archive(service, devices, written)
        check_end(service, written, keep_history=True, unlisted=0)
        if not stopped:
            break
    assert stops > 0


class TwoDevicesAtAService(TwoDevices):
    """Bob's two devices, as ever; the home is at his post office."""

    def new_home(self) -> OpenHome:
        self._aws = mock_aws()
        self._aws.start()
        api = ApiStack(deploy(new_clients()))
        api.bearers._rate = Rate(1_000_000, api.clock)
        return OpenService(Host(api).open())

    def teardown(self) -> None:
        super().teardown()
        self._aws.stop()


TestTwoDevicesAtAService = TwoDevicesAtAService.TestCase
TestTwoDevicesAtAService.settings = settings(max_examples=examples(8), stateful_step_count=15, deadline=None)


# --- larger than a request ------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("size", [0, 1, 99, 100, 101, 200, 256])
def test_a_container_of_any_size_is_written_and_read_in_parts(host: Host, service: ServiceHome, size: int) -> None:
    etag = service.put(KEY, LARGE[:size], etag=None)
    brought = [request for request in host.requests if request.url.path.endswith(f"{SHOP}/parts")]
    assert len(brought) == (0 if size <= 100 else -(-size // 100))
    assert service.get(KEY) == (LARGE[:size], etag)
    etag = service.put(KEY, LARGE[size:], etag=etag)
    assert service.get(KEY) == (LARGE[size:], etag)


@pytest.mark.usefixtures("small")
def test_a_container_overwritten_during_a_read_is_read_again(api: ApiStack, host: Host, service: ServiceHome) -> None:
    service.put(KEY, LARGE, etag=None)
    after = b"x" * 90
    writes = iter([after])

    def written_over(request: httpx.Request, response: httpx.Response) -> None:
        if request.headers.get("range") == "bytes=0-" and (data := next(writes, None)):
            put_by_another(api, data)

    host.watch = written_over
    found = service.get(KEY)
    assert found is not None
    assert found.data == after


@pytest.mark.usefixtures("small")
def test_a_container_overwritten_again_and_again_is_a_temporary_error(
    api: ApiStack, host: Host, service: ServiceHome
) -> None:
    service.put(KEY, LARGE, etag=None)

    def written_over(request: httpx.Request, _: httpx.Response) -> None:
        if request.headers.get("range") == "bytes=0-":
            owner = Owner(api, SHOP, SHOP_KEY)
            ask = api.ask("POST", f"/storage/{SHOP}/parts", token=owner.token, body=b"y" * 100)
            other = api.ask("POST", f"/storage/{SHOP}/parts", token=owner.token, body=b"z" * 100)
            parts = [part.body.decode().split('"')[3] for part in (ask, other)]
            at, headers = f"/storage/{SHOP}/containers/{KEY}/parts", {"if-match": "*"}
            assert api.ask("PUT", at, token=owner.token, body={"parts": parts}, headers=headers).status == 200

    host.watch = written_over
    with pytest.raises(NotNowError) as caught:
        service.get(KEY)
    assert caught.value.reason is STORE_UNAVAILABLE


@pytest.mark.usefixtures("small")
def test_unused_parts_take_no_space(api: ApiStack, mailbox: Mailbox) -> None:
    mailbox.put_container(KEY, b"there", etag=None)
    with pytest.raises(ChangedMeanwhileError):
        mailbox.put_container(KEY, LARGE, etag=None)
    assert (mailbox.storage().containers, mailbox.storage().bytes) == (1, 5)
    assert list(api.deployed.objects().values()) == [b"there"]


# --- when something goes wrong --------------------------------------------------------------------------------------


def test_a_lost_request_is_repeated(host: Host, service: ServiceHome) -> None:
    host.faults += [lost_before, busy(503), busy(429, retry_after="2")]
    etag = service.put(KEY, b"sealed", etag=None)
    host.faults += [lost_before, lost_after]
    assert service.get(KEY) == (b"sealed", etag)
    host.faults += [lost_after]
    service.delete(KEY)
    assert service.get(KEY) is None


def test_a_write_whose_response_was_lost_is_made_once(host: Host, api: ApiStack, service: ServiceHome) -> None:
    service.get(KEY)  # signs in
    host.faults += [lost_after]
    with pytest.raises(ConflictError):
        service.put(KEY, b"sealed", etag=None)
    found = service.get(KEY)
    assert found is not None
    assert found.data == b"sealed"
    assert list(api.deployed.objects().values()) == [b"sealed"]


@pytest.mark.usefixtures("small")
def test_parts_whose_response_was_lost_are_sent_again_and_the_container_is_complete(
    host: Host, service: ServiceHome
) -> None:
    service.get(KEY)
    host.faults += [lost_after, lost_before, busy(500)]
    etag = service.put(KEY, LARGE, etag=None)
    assert service.get(KEY) == (LARGE, etag)


def test_an_unavailable_service_is_a_temporary_error(host: Host, service: ServiceHome) -> None:
    for call in (lambda: service.get(KEY), lambda: service.put(KEY, b"", etag=None), lambda: service.delete(KEY)):
        host.faults[:] = [busy(503)] * 6
        with pytest.raises(NotNowError) as caught:
            call()
        assert caught.value.reason is STORE_UNAVAILABLE


def test_full_storage_is_reported_once_and_nothing_is_lost(host: Host, api: ApiStack, service: ServiceHome) -> None:
    api.containers._storing = api.storing(api.deployed.clients, StorageUsage(1, 10))
    etag = service.put(KEY, b"sealed", etag=None)
    requests = len(host.requests)
    with pytest.raises(StorageFullError, match="ask the operator"):
        service.put(OTHER, b"more", etag=None)
    assert len(host.requests) == requests + 1, "who is full is full at the next try, too"
    assert service.get(KEY) == (b"sealed", etag)


def test_another_owner_is_refused(host: Host) -> None:
    with host.open(SHOP, BOB_KEY) as mailbox, pytest.raises(NotTheOwnerError):
        ServiceHome(mailbox).get(KEY)


def test_a_delete_during_an_overwrite_succeeds(
    host: Host, api: ApiStack, service: ServiceHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.put(KEY, b"sealed", etag=None)
    store = api.containers._storing._storage
    delete = store.delete

    def written_before(old: object) -> None:
        monkeypatch.undo()
        put_by_another(api, b"newer")
        delete(old)  # type: ignore[arg-type]

    monkeypatch.setattr(store, "delete", written_before)
    service.delete(KEY)
    assert service.get(KEY) is None


@pytest.mark.parametrize(
    "answer",
    [
        httpx.Response(200, content=b"sealed"),
        httpx.Response(206, content=b"sealed", headers={"etag": '"a"'}),
        httpx.Response(206, content=b"sealed", headers={"etag": '"a"', "content-range": "bytes 1-6/7"}),
        httpx.Response(206, content=b"", headers={"etag": '"a"', "content-range": "bytes 0-6/7"}),
    ],
)
def test_an_invalid_response_is_not_taken_for_a_container(
    host: Host, service: ServiceHome, answer: httpx.Response
) -> None:
    assert service.get(KEY) is None
    host.faults += [lambda *_: answer]
    with pytest.raises(UnexpectedAnswerError):
        service.get(KEY)


# --- both clients ---------------------------------------------------------------------------------------------------


def test_both_clients_put_list_and_delete(host: Host, opened: Open) -> None:
    host.page_size = 1
    mailbox = opened()
    etags = {key: mailbox.put_container(key, key[-1:].encode(), etag=None) for key in (OTHER, KEY)}
    assert [(each.key, each.size, each.etag) for each in mailbox.containers()] == [
        (KEY, 1, etags[KEY]),
        (OTHER, 1, etags[OTHER]),
    ]
    assert mailbox.get_container(KEY) == (b"1", etags[KEY])
    with pytest.raises(ChangedMeanwhileError):
        mailbox.put_container(KEY, b"x", etag='"other"')
    mailbox.delete_container(KEY)
    assert mailbox.get_container(KEY) is None
    assert mailbox.storage().containers == 1


@pytest.mark.parametrize("key", ["", "..", "x/../../y", "é", "0x", KEY + "\n"])
def test_an_invalid_key_is_refused_before_a_request(host: Host, opened: Open, key: str) -> None:
    mailbox = opened()
    for call in (
        lambda: mailbox.get_container(key),
        lambda: mailbox.put_container(key, b"", etag=None),
        lambda: mailbox.delete_container(key),
    ):
        with pytest.raises(RefusedError, match="not the key of a container"):
            call()
    assert host.requests == []


def test_a_folder_moves_to_the_service(tmp_path_factory: pytest.TempPathFactory, service: ServiceHome) -> None:
    source = filled(FolderHome(tmp_path_factory.mktemp("archive")))
    copy(source, archive(service))
    assert archive(service).conversations() == source.conversations()


def test_the_client_says_when_others_do_not_stop(host: Host, mailbox: Mailbox) -> None:
    mailbox.put_container(KEY, b"sealed", etag=None)
    changed = {"title": "", "status": 412, "detail": "", "reason": "ChangedMeanwhile"}
    host.faults += [lambda *_: httpx.Response(412, json=changed)] * steps.ROUNDS
    with pytest.raises(UnavailableError, match="while it was deleted"):
        mailbox.delete_container(KEY)
