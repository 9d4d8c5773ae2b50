"""The bucket: objects written, read whole or in ranges, and deleted; and places of bytes in them."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from botocore.exceptions import ClientError

from postroom.net.aws_errors import error_code, transient_as_not_now

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """The place of a line: object, first byte, length."""

    object: str
    offset: int
    length: int


GAP_BYTES: Final = 16_384
"""The largest gap between two lines of a request: reading so much more is cheaper than another request."""
READ_BYTES: Final = 8 * 1024 * 1024
"""The most that one request reads, unless a single line is longer."""


def neighbours(places: Iterable[Place]) -> Iterator[list[Place]]:
    """Groups of places that one range read serves: in one object, close to each other, of limited size."""
    run: list[Place] = []
    for place in sorted(places):
        if run and not (
            place.object == run[-1].object
            and place.offset - (run[-1].offset + run[-1].length) <= GAP_BYTES
            and place.offset + place.length - run[0].offset <= READ_BYTES
        ):
            yield run
            run = []
        run.append(place)
    if run:
        yield run


@contextmanager
def _missing_as_key_error(name: str, missing: frozenset[str]) -> Iterator[None]:
    try:
        yield
    except ClientError as error:
        if error_code(error) in missing:
            raise KeyError(name) from error
        raise


_MISSING: Final = frozenset({"NoSuchKey", "404"})
_MISSING_TO_READERS: Final = frozenset({"NoSuchKey", "404", "AccessDenied", "InvalidRange"})
"""S3 error codes for a missing object. Roles that may not list the bucket get "access denied" instead of "not found".

If an object ends before the line, the line is missing, too.
"""


class ObjectStore:
    """The bucket. Objects with messages are immutable, and their names are never used again (`If-None-Match: *`)."""

    def __init__(self, s3: "S3Client", bucket: str) -> None:
        self._s3 = s3
        self._bucket = bucket

    def put(self, name: str, data: bytes, content_type: str = "application/jsonl") -> None:
        """Store `data` under a new name. Raises NotNowError(STORE_UNAVAILABLE), also if the name is taken."""
        with transient_as_not_now():
            self._s3.put_object(Bucket=self._bucket, Key=name, Body=data, ContentType=content_type, IfNoneMatch="*")

    def replace(self, name: str, data: bytes, content_type: str) -> None:
        """Store an operator's document, in place of the last one. Raises NotNowError(STORE_UNAVAILABLE)."""
        with transient_as_not_now():
            self._s3.put_object(Bucket=self._bucket, Key=name, Body=data, ContentType=content_type)

    def delete(self, name: str) -> None:
        """Delete an object, if there is one. Raises NotNowError(STORE_UNAVAILABLE)."""
        with transient_as_not_now():
            self._s3.delete_object(Bucket=self._bucket, Key=name)

    def get(self, name: str) -> bytes:
        """All bytes of an object. Raises KeyError if there is none, NotNowError(STORE_UNAVAILABLE)."""
        return self._all_of(name, _MISSING)

    def find(self, name: str) -> bytes | None:
        """All bytes of an object; None if there is none, or if S3 says that access is denied.

        That is what S3 says about a missing object to a role that may not list the bucket. Raises
        NotNowError(STORE_UNAVAILABLE).
        """
        try:
            return self._all_of(name, _MISSING_TO_READERS)
        except KeyError:
            return None

    def document(self, name: str) -> bytes:
        """An operator's document. Raises as `get` does. If it is missing, S3 may say that access is denied."""
        return self._all_of(name, _MISSING_TO_READERS)

    def _all_of(self, name: str, missing: frozenset[str]) -> bytes:
        with transient_as_not_now(), _missing_as_key_error(name, missing):
            return self._s3.get_object(Bucket=self._bucket, Key=name)["Body"].read()

    def get_all(self, run: Sequence[Place]) -> list[bytes]:
        """The bytes of a group of `neighbours`, by one request. Raises as `get_range` does."""
        first, last = run[0], run[-1]
        data = self.get_range(Place(first.object, first.offset, last.offset + last.length - first.offset))
        starts = [place.offset - first.offset for place in run]
        return [data[start : start + place.length] for start, place in zip(starts, run, strict=True)]

    def get_range(self, place: Place) -> bytes:
        """The bytes of one line. Raises KeyError if the object is gone or too short, NotNowError(STORE_UNAVAILABLE)."""
        span = f"bytes={place.offset}-{place.offset + place.length - 1}"
        with transient_as_not_now(), _missing_as_key_error(place.object, _MISSING_TO_READERS):
            return self._s3.get_object(Bucket=self._bucket, Key=place.object, Range=span)["Body"].read()
