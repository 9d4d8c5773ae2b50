"""Changed answers of AWS: a test determines the result of each call."""

from collections.abc import Callable
from typing import Any

from botocore.exceptions import ClientError

Json = dict[str, Any]
Send = Callable[[Json], Json]
Answer = Callable[[str, Json, Send], Json]
"""Returns the answer to an operation and its request; `Send` passes a request to AWS."""


def between(client: Any, answer: Answer) -> None:
    """Let `answer` answer the calls of this client from now on."""
    original = type(client)._make_api_call
    client._make_api_call = lambda operation, request: answer(
        operation, request, lambda changed: original(client, operation, changed)
    )


def refused(operation: str, code: str, status: int = 400) -> ClientError:
    said: Any = {"Error": {"Code": code, "Message": code}, "ResponseMetadata": {"HTTPStatusCode": status}}
    return ClientError(said, operation)


def throttled(operation: str) -> ClientError:
    """An error as its service returns it."""
    s3 = operation.endswith(("Object", "Objects", "V2"))
    return refused(operation, "SlowDown", 503) if s3 else refused(operation, "ThrottlingException")
