"""A home in the owner's bucket: an object for each container. Conditional writes keep devices apart."""

from typing import TYPE_CHECKING, Final

from botocore.exceptions import ClientError

from postroom.client.archive.home import MAX_CONTAINER_BYTES, ConflictError, HomeObject, check_key
from postroom.net.aws_errors import error_code, transient_as_not_now
from postroom.protocols.dm3.containers import ContainerError

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

_BROKEN_CONDITION: Final = frozenset(("PreconditionFailed", "ConditionalRequestConflict", "NoSuchKey"))
"""Another object is there; another write is in progress; or If-Match names an object, and there is none."""


class S3Home:
    """Containers in a bucket, under names that begin with `prefix`.

    In a bucket with versioning, what was deleted from a conversation stays readable in older versions.
    """

    def __init__(self, s3: "S3Client", bucket: str, prefix: str = "") -> None:
        self._s3 = s3
        self._bucket = bucket
        self._prefix = prefix

    def get(self, key: str) -> HomeObject | None:
        """The container under a key. Raises NotNowError(STORE_UNAVAILABLE), ContainerError if it is too large."""
        with transient_as_not_now():
            try:
                answer = self._s3.get_object(Bucket=self._bucket, Key=self._name(key))
            except ClientError as error:
                if error_code(error) == "NoSuchKey":
                    return None
                raise
            with answer["Body"] as body:
                if answer["ContentLength"] > MAX_CONTAINER_BYTES:
                    raise ContainerError(key, f"has {answer['ContentLength']} bytes, over {MAX_CONTAINER_BYTES}")
                return HomeObject(body.read(), answer["ETag"])

    def put(self, key: str, data: bytes, *, etag: str | None) -> str:
        """Replace the container with this etag; None: there must be none. Returns the new etag.

        Raises ConflictError, NotNowError(STORE_UNAVAILABLE).
        """
        with transient_as_not_now():
            try:
                if etag is None:
                    answer = self._s3.put_object(Bucket=self._bucket, Key=self._name(key), Body=data, IfNoneMatch="*")
                else:
                    answer = self._s3.put_object(Bucket=self._bucket, Key=self._name(key), Body=data, IfMatch=etag)
            except ClientError as error:
                if error_code(error) in _BROKEN_CONDITION:
                    raise ConflictError from error
                raise
        return answer["ETag"]

    def delete(self, key: str) -> None:
        """Delete the container under a key, if there is one. Raises NotNowError(STORE_UNAVAILABLE)."""
        with transient_as_not_now():
            self._s3.delete_object(Bucket=self._bucket, Key=self._name(key))

    def _name(self, key: str) -> str:
        return self._prefix + check_key(key)
