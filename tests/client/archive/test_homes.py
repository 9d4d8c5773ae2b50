"""What every home of containers does: a folder, a bucket, service storage, memory."""

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path

import boto3
import pytest
from botocore.stub import Stubber
from moto import mock_aws

from postroom.client.archive import ConflictError, FolderHome, Home, MemoryHome
from postroom.client.archive.s3 import S3Home
from postroom.client.archive.service import ServiceHome
from postroom.core.errors import NotNowError
from postroom.core.reasons import STORE_UNAVAILABLE
from postroom.protocols.dm3.containers import ContainerError

KEY, OTHER = ("0x" + hashlib.sha256(name).hexdigest() for name in (b"one", b"other"))


@pytest.fixture(params=["folder", "bucket", "service", "memory"])
def home(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Home]:
    if request.param == "bucket":
        with mock_aws():
            s3 = boto3.Session("testing", "testing", region_name="us-east-1").client("s3")
            s3.create_bucket(Bucket="mine")
            yield S3Home(s3, "mine", "mail/")
    elif request.param == "service":
        with request.getfixturevalue("host").open() as mailbox:
            yield ServiceHome(mailbox)
    else:
        yield FolderHome(tmp_path / "deep" / "archive") if request.param == "folder" else MemoryHome()


def test_a_home_begins_empty(home: Home) -> None:
    assert home.get(KEY) is None


def test_a_container_is_returned_with_the_etag_of_its_put(home: Home) -> None:
    etag = home.put(KEY, b"\x00\xff sealed", etag=None)
    assert home.get(KEY) == (b"\x00\xff sealed", etag)
    assert home.get(OTHER) is None


def test_a_create_does_not_replace_an_existing_container(home: Home) -> None:
    etag = home.put(KEY, b"first", etag=None)
    with pytest.raises(ConflictError):
        home.put(KEY, b"second", etag=None)
    assert home.get(KEY) == (b"first", etag)


def test_a_write_with_the_current_etag_replaces_a_container(home: Home) -> None:
    before = home.put(KEY, b"first", etag=None)
    after = home.put(KEY, b"second", etag=before)
    assert after != before
    assert home.get(KEY) == (b"second", after)


def test_a_write_with_an_old_etag_is_a_conflict(home: Home) -> None:
    before = home.put(KEY, b"first", etag=None)
    after = home.put(KEY, b"second", etag=before)
    with pytest.raises(ConflictError):
        home.put(KEY, b"third", etag=before)
    assert home.get(KEY) == (b"second", after)


def test_a_deleted_container_is_not_replaced(home: Home) -> None:
    etag = home.put(KEY, b"first", etag=None)
    home.delete(KEY)
    with pytest.raises(ConflictError):
        home.put(KEY, b"second", etag=etag)
    assert home.get(KEY) is None


def test_a_deleted_container_can_be_created_again(home: Home) -> None:
    home.put(KEY, b"first", etag=None)
    home.delete(KEY)
    assert home.get(KEY) is None
    home.put(KEY, b"second", etag=None)


def test_deleting_a_missing_container_is_no_error(home: Home) -> None:
    home.delete(KEY)


@pytest.mark.parametrize("home", ["folder", "bucket", "service"], indirect=True)
@pytest.mark.parametrize("key", ["", "../" + KEY, KEY[2:], KEY.upper(), KEY + "/", KEY + "\n", "0x" + "é" * 64])
def test_a_key_is_0x_and_64_hex_digits(home: Home, key: str) -> None:
    calls: list[Callable[[], object]] = [
        lambda: home.get(key),
        lambda: home.put(key, b"", etag=None),
        lambda: home.delete(key),
    ]
    for call in calls:
        with pytest.raises(ValueError, match="not the key of a container"):
            call()


@pytest.mark.parametrize("home", ["folder", "bucket", "service"], indirect=True)
def test_a_read_is_limited_to_the_largest_container(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{type(home).__module__}.MAX_CONTAINER_BYTES", 10)
    home.put(KEY, bytes(11), etag=None)
    home.put(OTHER, bytes(10), etag=None)
    with pytest.raises(ContainerError, match=KEY):
        home.get(KEY)
    assert home.get(OTHER) is not None


# --- folder -----------------------------------------------------------------------------------------------------


def test_a_folder_has_a_file_for_each_container_and_is_private(tmp_path: Path) -> None:
    home = FolderHome(tmp_path / "archive")
    home.put(KEY, b"sealed", etag=None)
    assert (tmp_path / "archive" / KEY).read_bytes() == b"sealed"
    assert (tmp_path / "archive").stat().st_mode & 0o777 == 0o700


def test_two_processes_may_use_one_folder(tmp_path: Path) -> None:
    one, other = FolderHome(tmp_path), FolderHome(tmp_path)
    etag = one.put(KEY, b"first", etag=None)
    with pytest.raises(ConflictError):
        other.put(KEY, b"second", etag=None)
    assert other.put(KEY, b"second", etag=etag)


def test_leftovers_of_a_crashed_write_do_no_harm(tmp_path: Path) -> None:
    (tmp_path / ".unfinished").write_bytes(b"half a contai")
    home = FolderHome(tmp_path)
    home.put(KEY, b"whole", etag=None)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".lock", KEY]


def test_a_planted_link_is_not_followed(tmp_path: Path) -> None:
    other = tmp_path / "other.txt"
    other.write_text("mine")
    folder = tmp_path / "home"
    folder.mkdir()
    (folder / ".unfinished").symlink_to(other)
    FolderHome(folder).put(KEY, b"whole", etag=None)
    assert other.read_text() == "mine"


def test_an_unusable_folder_is_a_temporary_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    home = FolderHome(tmp_path / "file")
    calls: list[Callable[[], object]] = [
        lambda: home.get(KEY),
        lambda: home.put(KEY, b"", etag=None),
        lambda: home.delete(KEY),
    ]
    for call in calls:
        with pytest.raises(NotNowError, match="file") as caught:
            call()
        assert caught.value.reason is STORE_UNAVAILABLE


# --- bucket -----------------------------------------------------------------------------------------------------


def s3_home() -> tuple[S3Home, Stubber]:
    s3 = boto3.Session("testing", "testing", region_name="us-east-1").client("s3")
    return S3Home(s3, "mine"), Stubber(s3)


@pytest.mark.parametrize(("code", "status"), [("SlowDown", 503), ("InternalError", 500), ("RequestTimeout", 400)])
def test_throttling_is_a_temporary_error(code: str, status: int) -> None:
    home, stub = s3_home()
    calls: list[tuple[str, Callable[[], object]]] = [
        ("get_object", lambda: home.get(KEY)),
        ("put_object", lambda: home.put(KEY, b"", etag=None)),
        ("put_object", lambda: home.put(KEY, b"", etag='"1"')),
        ("delete_object", lambda: home.delete(KEY)),
    ]
    for operation, call in calls:
        with stub:
            stub.add_client_error(operation, code, http_status_code=status)
            with pytest.raises(NotNowError) as caught:
                call()
            assert caught.value.reason is STORE_UNAVAILABLE


@pytest.mark.parametrize(
    ("code", "status"), [("PreconditionFailed", 412), ("ConditionalRequestConflict", 409), ("NoSuchKey", 404)]
)
def test_a_failed_condition_is_a_conflict(code: str, status: int) -> None:
    home, stub = s3_home()
    with stub:
        stub.add_client_error("put_object", code, http_status_code=status)
        with pytest.raises(ConflictError):
            home.put(KEY, b"", etag='"1"')
