"""…/storage: owners keep sealed containers; no write gets lost, nothing is half there, nobody keeps too much."""

from typing import Any

import pytest
from tests.http.counter import BOB, BOB_KEY, QUOTA, SHOP, Counter, Owner, reason, said

from postroom.api.schemas import MAX_CONTAINER_BYTES, MAX_CONTAINERS, MAX_PART_BYTES, MAX_PARTS
from postroom.http import containers
from postroom.http.containers import PART_SECONDS
from postroom.http.response import HttpResponse
from postroom.storage.containers import Use

Json = Any
KEY, OTHER, THIRD = (f"0x{number:064x}" for number in (1, 2, 3))
NEW = {"if-none-match": "*"}
JOINED = {**NEW, "content-type": "application/json"}


class Keeper(Owner):
    """An owner who keeps containers."""

    def at(self, method: str, path: str, **more: Any) -> HttpResponse:
        return self.counter.ask(method, f"/storage/{self.name}{path}", token=self.token, **more)

    def put(self, data: bytes, *, key: str = KEY, headers: dict[str, str] = NEW) -> HttpResponse:
        return self.at("PUT", f"/containers/{key}", body=data, headers=headers)

    def put_over(self, etag: str, data: bytes) -> HttpResponse:
        return self.put(data, headers={"if-match": etag})

    def get(self, key: str = KEY, **headers: str) -> HttpResponse:
        return self.at(
            "GET", f"/containers/{key}", headers={each.replace("_", "-"): it for each, it in headers.items()}
        )

    def part(self, data: bytes) -> str:
        return str(said(self.at("POST", "/parts", body=data))["part"])

    def join(self, *parts: str, key: str = KEY, headers: dict[str, str] = JOINED) -> HttpResponse:
        return self.at("PUT", f"/containers/{key}/parts", body={"parts": list(parts)}, headers=headers)

    def delete(self, etag: str, key: str = KEY) -> HttpResponse:
        return self.at("DELETE", f"/containers/{key}", headers={"if-match": etag})

    def use(self) -> tuple[int, int]:
        told = said(self.at("GET", ""))
        return told["containers"], told["bytes"]


@pytest.fixture
def keeper(counter: Counter) -> Keeper:
    return Keeper(counter)


def set_quota(counter: Counter, containers: int, size: int) -> None:
    counter.containers._storing = counter.storing(counter.deployed.clients, Use(containers, size))


def rows(counter: Counter) -> list[str]:
    return [row["sk"]["S"] for row in counter.deployed.rows("StorageTable")]


# --- one container --------------------------------------------------------------------------------------------------


def test_what_was_kept_is_there_bit_for_bit_under_the_etag_that_was_told(keeper: Keeper) -> None:
    kept = keeper.put(b"\x00\xff sealed")
    etag = kept.headers["ETag"]
    assert said(kept) == {"key": KEY, "size": 9, "etag": etag}
    found = keeper.get()
    assert (found.status, found.content_type, found.body) == (200, "application/octet-stream", b"\x00\xff sealed")
    assert found.headers["ETag"] == etag
    assert found.headers["Cache-Control"] == "no-store"


def test_head_tells_the_etag_and_reads_nothing(counter: Counter, keeper: Keeper) -> None:
    etag = keeper.put(b"sealed").headers["ETag"]
    for name in counter.deployed.objects():
        counter.objects.delete(name)
    found = keeper.at("HEAD", f"/containers/{KEY}")
    assert (found.status, found.headers["ETag"]) == (200, etag)
    assert reason(keeper.at("HEAD", f"/containers/{OTHER}")) == "ContainerUnknown"


def test_an_empty_container_is_one(keeper: Keeper) -> None:
    assert said(keeper.put(b""))["size"] == 0
    for headers in ({}, {"range": "bytes=0-"}):
        found = keeper.get(**headers)
        assert (found.status, found.body) == (200, b"")
    assert keeper.use() == (1, 0)


def test_who_has_it_already_is_not_sent_it_again(keeper: Keeper) -> None:
    etag = keeper.put(b"sealed").headers["ETag"]
    for known in (etag, f"W/{etag}", f'"other", {etag}', "*"):
        found = keeper.get(if_none_match=known)
        assert (found.status, found.body, found.headers["ETag"]) == (304, b"", etag)
    assert keeper.get(if_none_match='"other"').status == 200


def test_each_write_has_another_etag_though_the_bytes_are_the_same(keeper: Keeper) -> None:
    first = keeper.put(b"sealed").headers["ETag"]
    second = keeper.put_over(first, b"sealed").headers["ETag"]
    assert keeper.delete(second).status == 200
    third = keeper.put(b"sealed").headers["ETag"]
    assert len({first, second, third}) == 3


def test_a_write_over_what_changed_meanwhile_changes_nothing(counter: Counter, keeper: Keeper) -> None:
    before = keeper.put(b"first").headers["ETag"]
    after = keeper.put_over(before, b"second").headers["ETag"]
    stored = counter.deployed.dump()
    assert reason(keeper.put_over(before, b"third")) == "ChangedMeanwhile"
    assert reason(keeper.put(b"third")) == "ChangedMeanwhile"
    assert reason(keeper.delete(before)) == "ChangedMeanwhile"
    assert reason(keeper.join(keeper.part(b"third"))) == "ChangedMeanwhile"
    assert counter.deployed.dump() == stored
    assert (keeper.get().body, keeper.get().headers["ETag"]) == (b"second", after)


def test_what_is_gone_cannot_be_written_over_and_may_be_put_anew(keeper: Keeper) -> None:
    etag = keeper.put(b"first").headers["ETag"]
    assert said(keeper.delete(etag)) is None
    assert reason(keeper.put_over(etag, b"second")) == "ChangedMeanwhile"
    assert reason(keeper.get()) == "ContainerUnknown"
    # RFC 9110 §13.2.1: of what is not there no condition is looked at.
    assert reason(keeper.delete(etag)) == "ContainerUnknown"
    assert keeper.put(b"second").status == 200


def test_what_was_written_over_or_deleted_lies_nowhere(counter: Counter, keeper: Keeper) -> None:
    etag = keeper.put(b"first").headers["ETag"]
    etag = keeper.put_over(etag, b"second").headers["ETag"]
    assert list(counter.deployed.objects().values()) == [b"second"]
    keeper.delete(etag)
    assert counter.deployed.objects() == {}
    assert keeper.use() == (0, 0)


def test_objects_are_named_by_chance_and_say_nothing(counter: Counter, keeper: Keeper) -> None:
    keeper.put(b"sealed")
    [name] = counter.deployed.objects()
    assert name.startswith("box/")
    assert SHOP not in name
    assert KEY not in name


# --- larger than a request, or an answer ----------------------------------------------------------------------------


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A request and an answer hold 10 bytes, and a container 100."""
    monkeypatch.setattr(containers, "MAX_PART_BYTES", 10)
    monkeypatch.setattr(containers, "MAX_CONTAINER_BYTES", 100)


def test_a_container_of_parts_is_what_they_have_one_after_the_other(counter: Counter, keeper: Keeper) -> None:
    parts = [keeper.part(data) for data in (b"abc", b"d", b"efghij")]
    joined = keeper.join(*parts)
    assert said(joined) == {"key": KEY, "size": 10, "etag": joined.headers["ETag"]}
    assert keeper.get().body == b"abcdefghij"
    assert keeper.use() == (1, 10)
    etag = keeper.put_over(joined.headers["ETag"], b"x").headers["ETag"]
    assert list(counter.deployed.objects().values()) == [b"x"]
    other = keeper.join(keeper.part(b"yz"), headers={**JOINED, "if-match": etag})
    assert reason(other) == "ChangedMeanwhile", "If-None-Match: * stands there, too"


def test_parts_take_the_place_of_what_is_there(counter: Counter, keeper: Keeper) -> None:
    etag = keeper.put(b"first").headers["ETag"]
    headers = {"if-match": etag, "content-type": "application/json"}
    assert keeper.join(keeper.part(b"sec"), keeper.part(b"ond"), headers=headers).status == 200
    assert keeper.get().body == b"second"
    assert sorted(counter.deployed.objects().values()) == [b"ond", b"sec"]
    assert keeper.use() == (1, 6)


def test_every_range_of_a_container_of_parts_is_what_stands_there(keeper: Keeper) -> None:
    whole = b"abcdefghij"
    etag = keeper.join(*(keeper.part(data) for data in (b"abc", b"d", b"efghij"))).headers["ETag"]
    for first in range(10):
        for last in range(first, 12):
            part = keeper.get(range=f"bytes={first}-{last}")
            assert (part.status, part.body) == (206, whole[first : last + 1])
            assert part.headers["Content-Range"] == f"bytes {first}-{min(last, 9)}/10"
            assert part.headers["ETag"] == etag
        assert keeper.get(range=f"bytes={first}-").body == whole[first:]


@pytest.mark.usefixtures("small")
def test_what_no_answer_holds_is_read_in_parts(keeper: Keeper) -> None:
    keeper.join(keeper.part(b"0123456789"), keeper.part(b"abcde"))
    whole = keeper.get()
    assert (whole.status, reason(whole)) == (416, "RangeUnsatisfiable")
    assert b"15 bytes" in whole.body
    assert keeper.get(range="bytes=0-").body == b"0123456789"
    assert keeper.get(range="bytes=3-14").body == b"3456789abc"
    assert keeper.get(range="bytes=10-").body == b"abcde"


@pytest.mark.parametrize(
    "asked", ["bytes=6-", "bytes=3-2", "bytes=-0", "bytes=0-1,3-4", "bytes=", "bytes=-", "bytes=99999999-"]
)
def test_a_range_that_is_none_of_it_is_refused(keeper: Keeper, asked: str) -> None:
    keeper.put(b"sealed")
    found = keeper.get(range=asked)
    assert (found.status, reason(found)) == (416, "RangeUnsatisfiable")
    assert found.headers["Content-Range"] == "bytes */6"


def test_a_range_of_the_last_bytes_is_given_and_one_of_no_bytes_passed_over(keeper: Keeper) -> None:
    keeper.put(b"sealed")
    assert (keeper.get(range="bytes=-2").status, keeper.get(range="bytes=-2").body) == (206, b"ed")
    assert (keeper.get(range="lines=0-1").status, keeper.get(range="lines=0-1").body) == (200, b"sealed")


def test_parts_of_two_writes_are_not_read_as_one(keeper: Keeper) -> None:
    before = keeper.put(b"first").headers["ETag"]
    assert keeper.get(range="bytes=0-2", if_match=before).body == b"fir"
    keeper.put_over(before, b"second")
    assert reason(keeper.get(range="bytes=3-", if_match=before)) == "ChangedMeanwhile"


@pytest.mark.usefixtures("small")
def test_more_than_a_request_or_a_container_may_have_is_refused_and_nothing_is_kept(
    counter: Counter, keeper: Keeper
) -> None:
    assert keeper.put(b"0123456789").status == 200
    stored = counter.deployed.dump()
    for refused in (keeper.put(b"0123456789a", key=OTHER), keeper.at("POST", "/parts", body=b"0123456789a")):
        assert (refused.status, reason(refused)) == (413, "ContainerTooLarge")
    assert counter.deployed.dump() == stored
    parts = [keeper.part(b"0123456789") for _ in range(10)]
    one_more = keeper.part(b"x")
    assert reason(keeper.join(*parts, one_more, key=OTHER)) == "ContainerTooLarge"
    assert keeper.join(*parts, key=OTHER).status == 200


def test_the_largest_part_is_one_that_lambda_can_be_given() -> None:
    assert MAX_PART_BYTES * 4 / 3 + 100_000 < 6 * 1024 * 1024
    assert MAX_PARTS * MAX_PART_BYTES >= MAX_CONTAINER_BYTES


def test_a_part_counts_once_and_for_its_mailbox_only(counter: Counter, keeper: Keeper) -> None:
    part = keeper.part(b"part")
    assert keeper.join(part).status == 200
    assert reason(keeper.join(part, key=OTHER)) == "PartUnknown"
    theirs = Keeper(counter, BOB, BOB_KEY).part(b"theirs")
    assert reason(keeper.join(theirs, key=OTHER)) == "PartUnknown"
    assert reason(keeper.join("nobody's", key=OTHER)) == "PartUnknown"
    assert [each["key"] for each in said(keeper.at("GET", "/containers"))["containers"]] == [KEY]


def test_a_part_counts_for_an_hour(counter: Counter, keeper: Keeper) -> None:
    young = keeper.part(b"young")
    counter.clock.now += PART_SECONDS
    keeper = Keeper(counter)  # whose token counts for an hour, too
    assert keeper.join(young).status == 200
    old = keeper.part(b"old")
    counter.clock.now += PART_SECONDS + 1
    keeper = Keeper(counter)
    assert reason(keeper.join(old, key=OTHER)) == "PartUnknown"


@pytest.mark.parametrize("parts", [[], ["a"] * 2, ["a"] * (MAX_PARTS + 1), ["x" * 101], [""], [1], None, "a"])
def test_what_names_no_parts_is_refused(keeper: Keeper, parts: object) -> None:
    refused = keeper.at("PUT", f"/containers/{KEY}/parts", body={"parts": parts}, headers=JOINED)
    assert (refused.status, reason(refused)) == (400, "NotARequest")


def test_a_part_of_nothing_adds_nothing(keeper: Keeper) -> None:
    keeper.join(keeper.part(b""), keeper.part(b"sealed"), keeper.part(b""))
    keeper.join(keeper.part(b""), key=OTHER)
    assert (keeper.get().body, keeper.get(OTHER).body) == (b"sealed", b"")
    assert keeper.use() == (2, 6)


# --- while somebody else writes -------------------------------------------------------------------------------------


def test_who_reads_while_it_is_written_over_is_given_what_is_there_now(
    counter: Counter, keeper: Keeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    etag = keeper.put(b"first").headers["ETag"]
    read = counter.containers._storing._storage.read

    def written_before(*given: Any) -> bytes:
        monkeypatch.undo()
        assert keeper.put_over(etag, b"second").status == 200
        return read(*given)

    monkeypatch.setattr(counter.containers._storing._storage, "read", written_before)
    found = keeper.get()
    assert (found.status, found.body) == (200, b"second")


def test_what_lost_its_bytes_is_not_said_to_be_nothing(counter: Counter, keeper: Keeper) -> None:
    keeper.put(b"sealed")
    [name] = counter.deployed.objects()
    counter.objects.delete(name)
    assert (keeper.get().status, reason(keeper.get())) == (503, "StoreUnavailable")


# --- lists and use --------------------------------------------------------------------------------------------------


def test_containers_are_listed_by_key_in_pages(keeper: Keeper) -> None:
    for key in (THIRD, KEY, OTHER):
        keeper.put(key.encode()[-3:], key=key)
    assert said(keeper.at("GET", "/containers", query={"limit": "2"}))["more"] is True
    found, after = [], ""
    while True:
        page = said(keeper.at("GET", "/containers", query={"limit": "1", "after": after}))
        found += page["containers"]
        after = page["cursor"]
        if not page["more"]:
            break
    assert [each["key"] for each in found] == [KEY, OTHER, THIRD]
    assert {each["size"] for each in found} == {3}
    assert [each["etag"] for each in found] == [keeper.get(key).headers["ETag"] for key in (KEY, OTHER, THIRD)]


def test_a_cursor_stays_good_when_its_container_is_gone(keeper: Keeper) -> None:
    etag = keeper.put(b"a").headers["ETag"]
    keeper.put(b"b", key=OTHER)
    cursor = said(keeper.at("GET", "/containers", query={"limit": "1"}))["cursor"]
    keeper.delete(etag)
    page = said(keeper.at("GET", "/containers", query={"after": cursor}))
    assert [each["key"] for each in page["containers"]] == [OTHER]


@pytest.mark.parametrize("after", ["x", "0x12", KEY + "0", KEY.upper(), "../" + KEY, KEY + "\n"])
def test_a_cursor_that_is_none_is_refused(keeper: Keeper, after: str) -> None:
    assert reason(keeper.at("GET", "/containers", query={"after": after})) == "CursorInvalid"


@pytest.mark.parametrize("limit", ["0", "-1", str(MAX_CONTAINERS + 1), "x"])
def test_a_page_of_too_many_or_none_is_refused(keeper: Keeper, limit: str) -> None:
    assert reason(keeper.at("GET", "/containers", query={"limit": limit})) == "NotARequest"


def test_parts_and_what_is_used_are_no_containers(keeper: Keeper) -> None:
    keeper.part(b"part")
    assert said(keeper.at("GET", "/containers")) == {"containers": [], "cursor": "", "more": False}


def test_how_much_is_used_and_may_be_is_told(keeper: Keeper) -> None:
    most = {"most_containers": QUOTA.containers, "most_bytes": QUOTA.bytes}
    assert said(keeper.at("GET", "")) == {"containers": 0, "bytes": 0, **most}
    keeper.put(b"abc")
    keeper.part(b"de")
    assert said(keeper.at("GET", "")) == {"containers": 2, "bytes": 5, **most}


# --- quotas ---------------------------------------------------------------------------------------------------------


def test_beyond_its_quota_a_mailbox_keeps_nothing_more_and_loses_nothing(counter: Counter, keeper: Keeper) -> None:
    set_quota(counter, 2, 10)
    etag = keeper.put(b"12345").headers["ETag"]
    stored = counter.deployed.dump()
    for refused in (
        keeper.put(b"123456", key=OTHER),
        keeper.put(b"12345678901", key=OTHER),
        keeper.put_over(etag, b"12345678901"),
        keeper.at("POST", "/parts", body=b"123456"),
    ):
        assert (refused.status, reason(refused)) == (507, "StorageFull")
    assert counter.deployed.dump() == stored
    assert keeper.put(b"12345", key=OTHER).status == 200
    assert reason(keeper.put(b"", key=THIRD)) == "StorageFull"
    assert keeper.put_over(etag, b"1").status == 200
    assert keeper.use() == (2, 6)


def test_the_first_container_too_is_held_to_the_quota(counter: Counter, keeper: Keeper) -> None:
    set_quota(counter, 1, 4)
    assert reason(keeper.put(b"12345")) == "StorageFull"
    assert rows(counter) == []
    assert keeper.put(b"1234").status == 200


def test_a_mailbox_over_a_quota_that_was_lowered_may_keep_less(counter: Counter, keeper: Keeper) -> None:
    etag = keeper.put(b"1234567890").headers["ETag"]
    other = keeper.put(b"1234567890", key=OTHER).headers["ETag"]
    set_quota(counter, 1, 5)
    etag = keeper.put_over(etag, b"123456789").headers["ETag"]
    assert reason(keeper.put_over(etag, b"1234567890")) == "StorageFull"
    assert keeper.delete(other, OTHER).status == 200
    assert keeper.use() == (1, 9)


def test_no_quota_is_none(counter: Counter, keeper: Keeper) -> None:
    set_quota(counter, 0, 0)
    assert keeper.put(b"1" * 1000).status == 200
    assert said(keeper.at("GET", ""))["most_bytes"] == 0


def test_parts_that_nobody_joined_make_room_after_an_hour(counter: Counter, keeper: Keeper) -> None:
    set_quota(counter, 2, 10)
    keeper.part(b"1234567890")
    assert reason(keeper.put(b"1")) == "StorageFull"
    counter.clock.now += PART_SECONDS + 1
    keeper = Keeper(counter)
    assert keeper.put(b"1").status == 200
    assert keeper.use() == (1, 1)
    assert list(counter.deployed.objects().values()) == [b"1"]


def test_one_mailbox_fills_only_its_own_storage(counter: Counter, keeper: Keeper) -> None:
    set_quota(counter, 1, 10)
    keeper.put(b"1234567890")
    bob = Keeper(counter, BOB, BOB_KEY)
    assert bob.put(b"bobs").status == 200
    assert (bob.get().body, keeper.get().body) == (b"bobs", b"1234567890")
    assert bob.use() == (1, 4)


# --- attacks --------------------------------------------------------------------------------------------------------

CALLS: list[tuple[str, str, object]] = [
    ("GET", "", None),
    ("GET", "/containers", None),
    ("GET", f"/containers/{KEY}", None),
    ("HEAD", f"/containers/{KEY}", None),
    ("PUT", f"/containers/{KEY}", b"theirs"),
    ("DELETE", f"/containers/{KEY}", None),
    ("POST", "/parts", b"theirs"),
    ("PUT", f"/containers/{KEY}/parts", {"parts": ["a"]}),
]


@pytest.mark.parametrize(("method", "path", "body"), CALLS)
def test_nobody_else_gets_at_it_or_learns_of_it(
    counter: Counter, keeper: Keeper, method: str, path: str, body: object
) -> None:
    keeper.put(b"mine")
    stored, bob = counter.deployed.dump(), Keeper(counter, BOB, BOB_KEY)
    stored["LimitsTable"] = counter.deployed.rows("LimitsTable")
    address, headers = f"/storage/{SHOP}{path}", {"if-match": "*", "content-type": "application/json"}
    if isinstance(body, bytes):
        headers["content-type"] = "application/octet-stream"
    refused = {token: counter.ask(method, address, token=token, body=body, headers=headers)
               for token in (bob.token, "", keeper.token + "x")}  # fmt: skip
    assert [reason(each) for each in refused.values()] == ["AnothersMailbox", "TokenInvalid", "TokenInvalid"]
    counter.clock.now += 3601
    over = counter.ask(method, address, token=keeper.token, body=body, headers=headers)
    assert reason(over) == "TokenInvalid"
    assert counter.deployed.dump() == stored


def test_a_mailbox_that_is_closed_keeps_what_it_has_and_lets_nobody_in(counter: Counter, keeper: Keeper) -> None:
    keeper.put(b"mine")
    counter.mailboxes.close(SHOP, 1)
    counter.clock.now += 60
    assert (reason(keeper.get()), reason(keeper.put(b"x", key=OTHER))) == ("TokenInvalid", "TokenInvalid")
    assert list(counter.deployed.objects().values()) == [b"mine"]


@pytest.mark.parametrize(
    "key",
    ["x", KEY[2:], KEY.upper(), KEY[:-1], KEY + "0", "0x" + "g" * 64, "0x" + "é" * 64, "..", "%2e%2e", KEY + "%0a",
     "0x" + "٣" * 64, "use", "c#" + KEY, "x" * 1_000_000],
)  # fmt: skip
def test_a_key_is_0x_and_the_hex_of_a_sha_256_and_nothing_else(counter: Counter, keeper: Keeper, key: str) -> None:
    part = keeper.part(b"part")
    stored = counter.deployed.dump()
    for refused in (keeper.get(key), keeper.put(b"", key=key), keeper.delete("*", key), keeper.join(part, key=key)):
        assert (refused.status, reason(refused)) == (400, "NotARequest")
    assert counter.deployed.dump() == stored


@pytest.mark.parametrize("path", ["/containers/../../bob.eth/containers", f"/containers/{KEY}/..", "/containers//x"])
def test_an_address_that_climbs_leads_nowhere(keeper: Keeper, path: str) -> None:
    assert reason(keeper.at("GET", path)) == "NoSuchRoute"


def test_without_a_condition_nothing_is_written(counter: Counter, keeper: Keeper) -> None:
    etag, part = keeper.put(b"mine").headers["ETag"], keeper.part(b"part")
    stored = counter.deployed.dump()
    for headers in ({}, {"if-none-match": etag}):
        said_too = {**headers, "content-type": "application/json"}
        for refused in (
            keeper.put(b"x", headers=headers),
            keeper.at("DELETE", f"/containers/{KEY}", headers=headers),
            keeper.join(part, headers=said_too),
        ):
            assert (refused.status, reason(refused)) == (428, "MatchNeeded")
    assert counter.deployed.dump() == stored


def test_a_weak_etag_lets_nobody_write_and_one_of_a_list_does(keeper: Keeper) -> None:
    etag = keeper.put(b"first").headers["ETag"]
    assert reason(keeper.put_over(f"W/{etag}", b"x")) == "ChangedMeanwhile"
    assert reason(keeper.delete(f'W/{etag}, "other"')) == "ChangedMeanwhile"
    assert reason(keeper.put_over('"a" "b"', b"x")) == "NotARequest"
    assert keeper.put_over(f'"other", {etag}', b"second").status == 200
    assert keeper.delete("*").status == 200


@pytest.mark.parametrize("media_type", ["application/json", "text/plain", "", "multipart/form-data"])
def test_a_body_that_says_it_is_something_else_is_refused(keeper: Keeper, media_type: str) -> None:
    headers = {**NEW, "content-type": media_type}
    assert reason(keeper.put(b"{}", headers=headers)) == "WrongContentType"
    assert reason(keeper.at("POST", "/parts", body=b"{}", headers=headers)) == "WrongContentType"
