"""…/storage: owners keep sealed containers; no write gets lost, nothing is half there, nobody keeps too much."""

from typing import Any

import pytest
from tests.http.api_stack import BOB, BOB_KEY, QUOTA, SHOP, ApiStack, Owner, reason, said

from postroom.api.schemas import MAX_CONTAINER_BYTES, MAX_CONTAINERS, MAX_PART_BYTES, MAX_PARTS
from postroom.http import containers
from postroom.http.containers import PART_SECONDS
from postroom.http.response import HttpResponse
from postroom.storage.containers.rows import StorageUsage

Json = Any
KEY, OTHER, THIRD = (f"0x{number:064x}" for number in (1, 2, 3))
NEW = {"if-none-match": "*"}
JOINED = {**NEW, "content-type": "application/json"}


class ContainerOwner(Owner):
    """An owner who keeps containers."""

    def at(self, method: str, path: str, **more: Any) -> HttpResponse:
        return self.api.ask(method, f"/storage/{self.name}{path}", token=self.token, **more)

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
def owner(api: ApiStack) -> ContainerOwner:
    return ContainerOwner(api)


def set_quota(api: ApiStack, containers: int, size: int) -> None:
    api.containers._storing = api.storing(api.deployed.clients, StorageUsage(containers, size))


def rows(api: ApiStack) -> list[str]:
    return [row["sk"]["S"] for row in api.deployed.rows("StorageTable")]


# --- one container --------------------------------------------------------------------------------------------------


def test_a_stored_container_is_returned_unchanged_with_its_etag(owner: ContainerOwner) -> None:
    kept = owner.put(b"\x00\xff sealed")
    etag = kept.headers["ETag"]
    assert said(kept) == {"key": KEY, "size": 9, "etag": etag}
    found = owner.get()
    assert (found.status, found.content_type, found.body) == (200, "application/octet-stream", b"\x00\xff sealed")
    assert found.headers["ETag"] == etag
    assert found.headers["Cache-Control"] == "no-store"


def test_head_returns_the_etag_and_the_length_of_get_and_reads_no_object(api: ApiStack, owner: ContainerOwner) -> None:
    etag = owner.put(b"sealed").headers["ETag"]
    for name in api.deployed.objects():
        api.objects.delete(name)
    for headers in ({}, {"range": "bytes=0-1"}, {"range": "bytes=1000-"}):
        found = owner.at("HEAD", f"/containers/{KEY}", headers=headers)
        # API Gateway sends the length of the body, and no body.
        assert (found.status, found.headers["ETag"], len(found.body)) == (200, etag, 6)
    assert reason(owner.at("HEAD", f"/containers/{OTHER}")) == "ContainerUnknown"


def test_an_empty_container_can_be_stored(owner: ContainerOwner) -> None:
    assert said(owner.put(b""))["size"] == 0
    for headers in ({}, {"range": "bytes=0-"}):
        found = owner.get(**headers)
        assert (found.status, found.body) == (200, b"")
    assert owner.use() == (1, 0)


def test_a_client_that_has_the_current_version_gets_304(owner: ContainerOwner) -> None:
    etag = owner.put(b"sealed").headers["ETag"]
    for known in (etag, f"W/{etag}", f'"other", {etag}', "*"):
        found = owner.get(if_none_match=known)
        assert (found.status, found.body, found.headers["ETag"]) == (304, b"", etag)
    assert owner.get(if_none_match='"other"').status == 200


def test_each_write_has_a_new_etag_even_for_the_same_bytes(owner: ContainerOwner) -> None:
    first = owner.put(b"sealed").headers["ETag"]
    second = owner.put_over(first, b"sealed").headers["ETag"]
    assert owner.delete(second).status == 200
    third = owner.put(b"sealed").headers["ETag"]
    assert len({first, second, third}) == 3


def test_a_write_over_a_newer_version_changes_nothing(api: ApiStack, owner: ContainerOwner) -> None:
    before = owner.put(b"first").headers["ETag"]
    after = owner.put_over(before, b"second").headers["ETag"]
    stored = api.deployed.dump()
    assert reason(owner.put_over(before, b"third")) == "ChangedMeanwhile"
    assert reason(owner.put(b"third")) == "ChangedMeanwhile"
    assert reason(owner.delete(before)) == "ChangedMeanwhile"
    assert reason(owner.join(owner.part(b"third"))) == "ChangedMeanwhile"
    assert api.deployed.dump() == stored
    assert (owner.get().body, owner.get().headers["ETag"]) == (b"second", after)


def test_a_deleted_container_cannot_be_overwritten_but_can_be_created_again(owner: ContainerOwner) -> None:
    etag = owner.put(b"first").headers["ETag"]
    assert said(owner.delete(etag)) is None
    assert reason(owner.put_over(etag, b"second")) == "ChangedMeanwhile"
    assert reason(owner.get()) == "ContainerUnknown"
    # RFC 9110 §13.2.1: of what is not there no condition is looked at.
    assert reason(owner.delete(etag)) == "ContainerUnknown"
    assert owner.put(b"second").status == 200


def test_objects_of_overwritten_and_deleted_containers_are_removed(api: ApiStack, owner: ContainerOwner) -> None:
    etag = owner.put(b"first").headers["ETag"]
    etag = owner.put_over(etag, b"second").headers["ETag"]
    assert list(api.deployed.objects().values()) == [b"second"]
    owner.delete(etag)
    assert api.deployed.objects() == {}
    assert owner.use() == (0, 0)


def test_object_names_are_random_and_reveal_nothing(api: ApiStack, owner: ContainerOwner) -> None:
    owner.put(b"sealed")
    [name] = api.deployed.objects()
    assert name.startswith("box/")
    assert SHOP not in name
    assert KEY not in name


# --- larger than a request, or an answer ----------------------------------------------------------------------------


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A request and an answer hold 10 bytes, and a container 100."""
    monkeypatch.setattr(containers, "MAX_PART_BYTES", 10)
    monkeypatch.setattr(containers, "MAX_CONTAINER_BYTES", 100)


def test_a_container_of_parts_is_their_concatenation(api: ApiStack, owner: ContainerOwner) -> None:
    parts = [owner.part(data) for data in (b"abc", b"d", b"efghij")]
    joined = owner.join(*parts)
    assert said(joined) == {"key": KEY, "size": 10, "etag": joined.headers["ETag"]}
    assert owner.get().body == b"abcdefghij"
    assert owner.use() == (1, 10)
    etag = owner.put_over(joined.headers["ETag"], b"x").headers["ETag"]
    assert list(api.deployed.objects().values()) == [b"x"]
    other = owner.join(owner.part(b"yz"), headers={**JOINED, "if-match": etag})
    assert reason(other) == "ChangedMeanwhile", "If-None-Match: * stands there, too"


def test_joined_parts_replace_an_existing_container(api: ApiStack, owner: ContainerOwner) -> None:
    etag = owner.put(b"first").headers["ETag"]
    headers = {"if-match": etag, "content-type": "application/json"}
    assert owner.join(owner.part(b"sec"), owner.part(b"ond"), headers=headers).status == 200
    assert owner.get().body == b"second"
    assert sorted(api.deployed.objects().values()) == [b"ond", b"sec"]
    assert owner.use() == (1, 6)


def test_every_range_of_a_container_of_parts_has_the_right_bytes(owner: ContainerOwner) -> None:
    whole = b"abcdefghij"
    etag = owner.join(*(owner.part(data) for data in (b"abc", b"d", b"efghij"))).headers["ETag"]
    for first in range(10):
        for last in range(first, 12):
            part = owner.get(range=f"bytes={first}-{last}")
            assert (part.status, part.body) == (206, whole[first : last + 1])
            assert part.headers["Content-Range"] == f"bytes {first}-{min(last, 9)}/10"
            assert part.headers["ETag"] == etag
        assert owner.get(range=f"bytes={first}-").body == whole[first:]


@pytest.mark.usefixtures("small")
def test_a_container_too_large_for_a_response_is_read_by_ranges(owner: ContainerOwner) -> None:
    owner.join(owner.part(b"0123456789"), owner.part(b"abcde"))
    whole = owner.get()
    assert (whole.status, reason(whole)) == (416, "RangeUnsatisfiable")
    assert b"15 bytes" in whole.body
    assert owner.get(range="bytes=0-").body == b"0123456789"
    assert owner.get(range="bytes=3-14").body == b"3456789abc"
    assert owner.get(range="bytes=10-").body == b"abcde"


@pytest.mark.parametrize(
    "asked", ["bytes=6-", "bytes=3-2", "bytes=-0", "bytes=0-1,3-4", "bytes=", "bytes=-", "bytes=99999999-"]
)
def test_a_range_beyond_the_container_is_refused(owner: ContainerOwner, asked: str) -> None:
    owner.put(b"sealed")
    found = owner.get(range=asked)
    assert (found.status, reason(found)) == (416, "RangeUnsatisfiable")
    assert found.headers["Content-Range"] == "bytes */6"


def test_a_suffix_range_is_served_and_an_empty_one_is_ignored(owner: ContainerOwner) -> None:
    owner.put(b"sealed")
    assert (owner.get(range="bytes=-2").status, owner.get(range="bytes=-2").body) == (206, b"ed")
    assert (owner.get(range="lines=0-1").status, owner.get(range="lines=0-1").body) == (200, b"sealed")


def test_ranges_of_two_versions_are_not_mixed(owner: ContainerOwner) -> None:
    before = owner.put(b"first").headers["ETag"]
    assert owner.get(range="bytes=0-2", if_match=before).body == b"fir"
    owner.put_over(before, b"second")
    assert reason(owner.get(range="bytes=3-", if_match=before)) == "ChangedMeanwhile"


@pytest.mark.usefixtures("small")
def test_oversized_requests_and_containers_are_refused_and_nothing_is_stored(
    api: ApiStack, owner: ContainerOwner
) -> None:
    assert owner.put(b"0123456789").status == 200
    stored = api.deployed.dump()
    for refused in (owner.put(b"0123456789a", key=OTHER), owner.at("POST", "/parts", body=b"0123456789a")):
        assert (refused.status, reason(refused)) == (413, "ContainerTooLarge")
    assert api.deployed.dump() == stored
    parts = [owner.part(b"0123456789") for _ in range(10)]
    one_more = owner.part(b"x")
    assert reason(owner.join(*parts, one_more, key=OTHER)) == "ContainerTooLarge"
    assert owner.join(*parts, key=OTHER).status == 200


def test_the_largest_part_fits_into_a_lambda_request() -> None:
    assert MAX_PART_BYTES * 4 / 3 + 100_000 < 6 * 1024 * 1024
    assert MAX_PARTS * MAX_PART_BYTES >= MAX_CONTAINER_BYTES


def test_a_part_can_be_used_once_and_by_its_mailbox_only(api: ApiStack, owner: ContainerOwner) -> None:
    part = owner.part(b"part")
    assert owner.join(part).status == 200
    assert reason(owner.join(part, key=OTHER)) == "PartUnknown"
    theirs = ContainerOwner(api, BOB, BOB_KEY).part(b"theirs")
    assert reason(owner.join(theirs, key=OTHER)) == "PartUnknown"
    assert reason(owner.join("nobody's", key=OTHER)) == "PartUnknown"
    assert [each["key"] for each in said(owner.at("GET", "/containers"))["containers"]] == [KEY]


def test_a_part_expires_after_an_hour(api: ApiStack, owner: ContainerOwner) -> None:
    young = owner.part(b"young")
    api.clock.now += 3600
    owner = ContainerOwner(api)  # whose token counts for an hour, too
    assert owner.join(young).status == 200
    old = owner.part(b"old")
    api.clock.now += 3601
    owner = ContainerOwner(api)
    assert reason(owner.join(old, key=OTHER)) == "PartUnknown"


@pytest.mark.parametrize("parts", [[], ["a"] * 2, ["a"] * (MAX_PARTS + 1), ["x" * 101], [""], [1], None, "a"])
def test_a_join_without_parts_is_refused(owner: ContainerOwner, parts: object) -> None:
    refused = owner.at("PUT", f"/containers/{KEY}/parts", body={"parts": parts}, headers=JOINED)
    assert (refused.status, reason(refused)) == (400, "NotARequest")


def test_an_empty_part_adds_nothing(owner: ContainerOwner) -> None:
    owner.join(owner.part(b""), owner.part(b"sealed"), owner.part(b""))
    owner.join(owner.part(b""), key=OTHER)
    assert (owner.get().body, owner.get(OTHER).body) == (b"sealed", b"")
    assert owner.use() == (2, 6)


# --- while somebody else writes -------------------------------------------------------------------------------------


def test_a_read_during_an_overwrite_returns_the_new_version(
    api: ApiStack, owner: ContainerOwner, monkeypatch: pytest.MonkeyPatch
) -> None:
    etag = owner.put(b"first").headers["ETag"]
    read = api.containers._storing._storage.read

    def written_before(*given: Any) -> bytes:
        monkeypatch.undo()
        assert owner.put_over(etag, b"second").status == 200
        return read(*given)

    monkeypatch.setattr(api.containers._storing._storage, "read", written_before)
    found = owner.get()
    assert (found.status, found.body) == (200, b"second")


def test_a_container_whose_object_is_missing_is_an_error_not_a_404(api: ApiStack, owner: ContainerOwner) -> None:
    owner.put(b"sealed")
    [name] = api.deployed.objects()
    api.objects.delete(name)
    assert (owner.get().status, reason(owner.get())) == (503, "ContentUnavailable")


# --- lists and use --------------------------------------------------------------------------------------------------


def test_containers_are_listed_by_key_in_pages(owner: ContainerOwner) -> None:
    for key in (THIRD, KEY, OTHER):
        owner.put(key.encode()[-3:], key=key)
    assert said(owner.at("GET", "/containers", query={"limit": "2"}))["more"] is True
    found, after = [], ""
    while True:
        page = said(owner.at("GET", "/containers", query={"limit": "1", "after": after}))
        found += page["containers"]
        after = page["cursor"]
        if not page["more"]:
            break
    assert [each["key"] for each in found] == [KEY, OTHER, THIRD]
    assert {each["size"] for each in found} == {3}
    assert [each["etag"] for each in found] == [owner.get(key).headers["ETag"] for key in (KEY, OTHER, THIRD)]


def test_a_cursor_stays_valid_when_its_container_is_deleted(owner: ContainerOwner) -> None:
    etag = owner.put(b"a").headers["ETag"]
    owner.put(b"b", key=OTHER)
    cursor = said(owner.at("GET", "/containers", query={"limit": "1"}))["cursor"]
    owner.delete(etag)
    page = said(owner.at("GET", "/containers", query={"after": cursor}))
    assert [each["key"] for each in page["containers"]] == [OTHER]


@pytest.mark.parametrize("after", ["x", "0x12", KEY + "0", KEY.upper(), "../" + KEY, KEY + "\n"])
def test_an_invalid_cursor_is_refused(owner: ContainerOwner, after: str) -> None:
    assert reason(owner.at("GET", "/containers", query={"after": after})) == "CursorInvalid"


@pytest.mark.parametrize("limit", ["0", "-1", str(MAX_CONTAINERS + 1), "x"])
def test_an_invalid_page_size_is_refused(owner: ContainerOwner, limit: str) -> None:
    assert reason(owner.at("GET", "/containers", query={"limit": limit})) == "NotARequest"


def test_parts_and_usage_are_not_listed_as_containers(owner: ContainerOwner) -> None:
    owner.part(b"part")
    assert said(owner.at("GET", "/containers")) == {"containers": [], "cursor": "", "more": False}


def test_usage_and_quota_are_returned(owner: ContainerOwner) -> None:
    most = {"most_containers": QUOTA.containers, "most_bytes": QUOTA.bytes}
    assert said(owner.at("GET", "")) == {"containers": 0, "bytes": 0, **most}
    owner.put(b"abc")
    owner.part(b"de")
    assert said(owner.at("GET", "")) == {"containers": 2, "bytes": 5, **most}


# --- quotas ---------------------------------------------------------------------------------------------------------


def test_a_mailbox_at_its_quota_stores_no_more_and_loses_nothing(api: ApiStack, owner: ContainerOwner) -> None:
    set_quota(api, 2, 10)
    etag = owner.put(b"12345").headers["ETag"]
    stored = api.deployed.dump()
    for refused in (
        owner.put(b"123456", key=OTHER),
        owner.put(b"12345678901", key=OTHER),
        owner.put_over(etag, b"12345678901"),
        owner.at("POST", "/parts", body=b"123456"),
    ):
        assert (refused.status, reason(refused)) == (507, "StorageFull")
    assert api.deployed.dump() == stored
    assert owner.put(b"12345", key=OTHER).status == 200
    assert reason(owner.put(b"", key=THIRD)) == "StorageFull"
    assert owner.put_over(etag, b"1").status == 200
    assert owner.use() == (2, 6)


def test_the_quota_applies_to_the_first_container(api: ApiStack, owner: ContainerOwner) -> None:
    set_quota(api, 1, 4)
    assert reason(owner.put(b"12345")) == "StorageFull"
    assert rows(api) == []
    assert owner.put(b"1234").status == 200


def test_a_mailbox_over_a_lowered_quota_may_shrink(api: ApiStack, owner: ContainerOwner) -> None:
    etag = owner.put(b"1234567890").headers["ETag"]
    other = owner.put(b"1234567890", key=OTHER).headers["ETag"]
    set_quota(api, 1, 5)
    etag = owner.put_over(etag, b"123456789").headers["ETag"]
    assert reason(owner.put_over(etag, b"1234567890")) == "StorageFull"
    assert owner.delete(other, OTHER).status == 200
    assert owner.use() == (1, 9)


def test_a_quota_of_zero_means_no_limit(api: ApiStack, owner: ContainerOwner) -> None:
    set_quota(api, 0, 0)
    assert owner.put(b"1" * 1000).status == 200
    assert said(owner.at("GET", ""))["most_bytes"] == 0


def test_unused_parts_free_their_bytes_after_an_hour(api: ApiStack, owner: ContainerOwner) -> None:
    set_quota(api, 2, 10)
    owner.part(b"1234567890")
    assert reason(owner.put(b"1")) == "StorageFull"
    api.clock.now += PART_SECONDS + 1
    owner = ContainerOwner(api)
    assert owner.put(b"1").status == 200
    assert owner.use() == (1, 1)
    assert list(api.deployed.objects().values()) == [b"1"]


def test_one_mailbox_fills_only_its_own_storage(api: ApiStack, owner: ContainerOwner) -> None:
    set_quota(api, 1, 10)
    owner.put(b"1234567890")
    bob = ContainerOwner(api, BOB, BOB_KEY)
    assert bob.put(b"bobs").status == 200
    assert (bob.get().body, owner.get().body) == (b"bobs", b"1234567890")
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
def test_other_owners_can_neither_read_nor_detect_a_container(
    api: ApiStack, owner: ContainerOwner, method: str, path: str, body: object
) -> None:
    owner.put(b"mine")
    stored, bob = api.deployed.dump(), ContainerOwner(api, BOB, BOB_KEY)
    stored["LimitsTable"] = api.deployed.rows("LimitsTable")
    address, headers = f"/storage/{SHOP}{path}", {"if-match": "*", "content-type": "application/json"}
    if isinstance(body, bytes):
        headers["content-type"] = "application/octet-stream"
    refused = {token: api.ask(method, address, token=token, body=body, headers=headers)
               for token in (bob.token, "", owner.token + "x")}  # fmt: skip
    assert [reason(each) for each in refused.values()] == ["AnothersMailbox", "TokenInvalid", "TokenInvalid"]
    api.clock.now += 3601
    over = api.ask(method, address, token=owner.token, body=body, headers=headers)
    assert reason(over) == "TokenInvalid"
    assert api.deployed.dump() == stored


def test_a_closed_mailbox_keeps_its_containers_and_refuses_access(api: ApiStack, owner: ContainerOwner) -> None:
    owner.put(b"mine")
    api.mailboxes.close(SHOP, 1)
    api.clock.now += 60
    assert (reason(owner.get()), reason(owner.put(b"x", key=OTHER))) == ("TokenInvalid", "TokenInvalid")
    assert list(api.deployed.objects().values()) == [b"mine"]


@pytest.mark.parametrize(
    "key",
    ["x", KEY[2:], KEY.upper(), KEY[:-1], KEY + "0", "0x" + "g" * 64, "0x" + "é" * 64, "..", "%2e%2e", KEY + "%0a",
     "0x" + "٣" * 64, "use", "c#" + KEY, "x" * 1_000_000],
)  # fmt: skip
def test_a_key_is_0x_and_64_hex_digits(api: ApiStack, owner: ContainerOwner, key: str) -> None:
    part = owner.part(b"part")
    stored = api.deployed.dump()
    for refused in (owner.get(key), owner.put(b"", key=key), owner.delete("*", key), owner.join(part, key=key)):
        assert (refused.status, reason(refused)) == (400, "NotARequest")
    assert api.deployed.dump() == stored


@pytest.mark.parametrize("path", ["/containers/../../bob.eth/containers", f"/containers/{KEY}/..", "/containers//x"])
def test_a_path_with_dot_segments_is_not_found(owner: ContainerOwner, path: str) -> None:
    assert reason(owner.at("GET", path)) == "NoSuchRoute"


def test_a_write_requires_a_condition(api: ApiStack, owner: ContainerOwner) -> None:
    etag, part = owner.put(b"mine").headers["ETag"], owner.part(b"part")
    stored = api.deployed.dump()
    for headers in ({}, {"if-none-match": etag}):
        said_too = {**headers, "content-type": "application/json"}
        for refused in (
            owner.put(b"x", headers=headers),
            owner.at("DELETE", f"/containers/{KEY}", headers=headers),
            owner.join(part, headers=said_too),
        ):
            assert (refused.status, reason(refused)) == (428, "MatchNeeded")
    assert api.deployed.dump() == stored


def test_a_weak_etag_does_not_match_and_a_list_does(owner: ContainerOwner) -> None:
    etag = owner.put(b"first").headers["ETag"]
    assert reason(owner.put_over(f"W/{etag}", b"x")) == "ChangedMeanwhile"
    assert reason(owner.delete(f'W/{etag}, "other"')) == "ChangedMeanwhile"
    assert reason(owner.put_over('"a" "b"', b"x")) == "NotARequest"
    assert owner.put_over(f'"other", {etag}', b"second").status == 200
    assert owner.delete("*").status == 200


@pytest.mark.parametrize("media_type", ["application/json", "text/plain", "", "multipart/form-data"])
def test_a_body_of_another_media_type_is_refused(owner: ContainerOwner, media_type: str) -> None:
    headers = {**NEW, "content-type": media_type}
    assert reason(owner.put(b"{}", headers=headers)) == "WrongContentType"
    assert reason(owner.at("POST", "/parts", body=b"{}", headers=headers)) == "WrongContentType"
