"""The bucket for jobs: lists by hour, reads whole objects, writes chunks, and deletes in bulk."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final, TypeVar

from botocore.exceptions import ClientError

from postroom.core.errors import NotNowError, OurError
from postroom.core.reasons import STORE_UNAVAILABLE
from postroom.jobs.paced_requests import retrying
from postroom.jobs.tally import Tally
from postroom.net.aws_errors import error_code, transient_as_not_now
from postroom.storage.layout import hour_of

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_s3.type_defs import (
        ListMultipartUploadsRequestTypeDef,
        ListObjectsV2OutputTypeDef,
        ListObjectsV2RequestTypeDef,
        ObjectTypeDef,
    )

R = TypeVar("R")

MOST_DELETED: Final = 1000
"""Objects deleted by one request."""
_PASSING: Final = frozenset({"InternalError", "ServiceUnavailable", "SlowDown"})
"""Temporary errors of single objects in a request that was answered with 200."""
_READ_BYTES: Final = 1024 * 1024
_DIGITS: Final = "123456789abcdef"


@dataclass(frozen=True, slots=True)
class BucketObject:
    """An object and its size in bytes."""

    name: str
    size: int


@dataclass(frozen=True, slots=True)
class Share:
    """A part of a prefix, such as an hour: the names that are, after the prefix, beyond `begins` and not beyond `ends`.

    Empty: no limit. `size`: in bytes, if it is known from one request.
    """

    prefix: str
    begins: str = ""
    ends: str = ""
    size: int | None = None


@dataclass(frozen=True, slots=True)
class Upload:
    """A multipart upload that is not finished."""

    name: str
    id: str


class Bucket:
    """All methods raise NotNowError(STORE_UNAVAILABLE) after `TRIES` attempts. Safe to share among threads."""

    def __init__(self, s3: "S3Client", bucket: str, tally: Tally, sleep: Callable[[float], None] = time.sleep) -> None:
        self._s3 = s3
        self._bucket = bucket
        self._tally = tally
        self._sleep = sleep

    def hours(self, prefix: str) -> Iterator[str]:
        """The prefixes of the hours in which there are objects: `seg/2026/11/23/01/`, oldest first.

        `prefix`: `seg/`, or the beginning of such a prefix, up to a slash. Other names are counted, and ignored.
        """
        if prefix.count("/") > 4:
            try:
                hour_of(prefix)
            except ValueError:
                self._tally.add("hours.unknown")
            else:
                yield prefix
            return
        for page in self._pages({"Bucket": self._bucket, "Prefix": prefix, "Delimiter": "/"}):
            for below in page.get("CommonPrefixes", []):
                yield from self.hours(below["Prefix"])

    def shares(self, prefix: str) -> "Sequence[Share]":
        """The objects of an hour, or under another prefix, in shares, each small enough for one task."""
        page = next(self._pages({"Bucket": self._bucket, "Prefix": prefix}))
        if not page["IsTruncated"]:
            return [Share(prefix, size=sum(entry["Size"] for entry in page.get("Contents", [])))]
        # Names are random, in hex; any others are in the first and the last share.
        edges = ["", *_DIGITS, ""]
        return [Share(prefix, *edge) for edge in pairwise(edges)]

    def objects(self, share: "Share") -> Iterator[BucketObject]:
        """The objects of a share."""
        for entry in self._entries(share):
            yield BucketObject(entry["Key"], entry["Size"])

    def older(self, share: "Share", than: int) -> Iterator[BucketObject]:
        """The objects of a share that were written before a time (epoch milliseconds)."""
        for entry in self._entries(share):
            if entry["LastModified"].timestamp() * 1000 < than:
                yield BucketObject(entry["Key"], entry["Size"])

    def unfinished(self, than: int) -> Iterator[Upload]:
        """Multipart uploads that were begun before a time (epoch milliseconds)."""
        request: ListMultipartUploadsRequestTypeDef = {"Bucket": self._bucket}
        while True:
            page = self._ask("list", lambda: self._s3.list_multipart_uploads(**request))
            for entry in page.get("Uploads", []):
                if entry["Initiated"].timestamp() * 1000 < than:
                    yield Upload(entry["Key"], entry["UploadId"])
            if not page["IsTruncated"]:
                return
            request["KeyMarker"], request["UploadIdMarker"] = page["NextKeyMarker"], page["NextUploadIdMarker"]

    def abort(self, upload: Upload) -> None:
        """Abort an upload."""

        def abort() -> None:
            try:
                self._s3.abort_multipart_upload(Bucket=self._bucket, Key=upload.name, UploadId=upload.id)
            except ClientError as error:
                if error_code(error) != "NoSuchUpload":
                    raise

        self._ask("abort", abort)

    def read(self, name: str) -> Sequence[bytes]:
        """The bytes of an object, in pieces. Raises KeyError if there is none."""

        def read() -> list[bytes]:
            try:
                body = self._s3.get_object(Bucket=self._bucket, Key=name)["Body"]
            except ClientError as error:
                if error_code(error) in ("NoSuchKey", "404"):
                    raise KeyError(name) from error
                raise
            return list(body.iter_chunks(_READ_BYTES))

        pieces = self._ask("get", read)
        self._tally.add("bytes.read", sum(map(len, pieces)))
        return pieces

    def put_new(self, name: str, data: bytes, content_type: str) -> bool:
        """Store data under a name; False: the name is taken, possibly by an earlier attempt, and the object there
        stays."""

        def put() -> bool:
            try:
                self._s3.put_object(Bucket=self._bucket, Key=name, Body=data, ContentType=content_type, IfNoneMatch="*")
            except ClientError as error:
                if error_code(error) == "PreconditionFailed":
                    return False
                raise
            return True

        self._tally.add("bytes.written", len(data))
        return self._ask("put", put)

    def delete_all(self, names: Sequence[str]) -> None:
        """Delete at most `MOST_DELETED` objects, whether they exist or not."""

        def delete() -> None:
            answer = self._s3.delete_objects(
                Bucket=self._bucket, Delete={"Objects": [{"Key": name} for name in names], "Quiet": True}
            )
            for error in answer.get("Errors", []):
                if error.get("Code") in _PASSING:
                    raise NotNowError(STORE_UNAVAILABLE)
                raise OurError(f"S3 does not delete {error.get('Key')}: {error.get('Code')} {error.get('Message')}")

        self._ask("delete", delete)

    def _entries(self, share: Share) -> "Iterator[ObjectTypeDef]":
        first = share.prefix + share.begins if share.begins else ""
        for page in self._pages({"Bucket": self._bucket, "Prefix": share.prefix, "StartAfter": first}):
            for entry in page.get("Contents", []):
                if share.ends and entry["Key"] > share.prefix + share.ends:
                    return
                yield entry

    def _pages(self, request: "ListObjectsV2RequestTypeDef") -> "Iterator[ListObjectsV2OutputTypeDef]":
        while True:
            page = self._ask("list", lambda: self._s3.list_objects_v2(**request))
            yield page
            if not page["IsTruncated"]:
                return
            request["ContinuationToken"] = page["NextContinuationToken"]

    def _ask(self, what: str, request: Callable[[], R]) -> R:
        def counted() -> R:
            self._tally.add(f"s3.{what}")
            with transient_as_not_now():
                return request()

        return retrying(counted, self._tally, self._sleep)
