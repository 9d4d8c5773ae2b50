"""What AWS says, changed on its way: a test says what becomes of each call."""

from collections.abc import Callable
from typing import Any

from botocore.exceptions import ClientError

Json = dict[str, Any]
Send = Callable[[Json], Json]
Answer = Callable[[str, Json, Send], Json]
"""Of an operation and its request; `Send` lets a request through to AWS."""


def between(client: Any, answer: Answer) -> None:
    """From now on `answer` is what this client hears."""
    original = type(client)._make_api_call
    client._make_api_call = lambda operation, request: answer(
        operation, request, lambda changed: original(client, operation, changed)
    )


def refused(operation: str, code: str, status: int = 400) -> ClientError:
    said: Any = {"Error": {"Code": code, "Message": code}, "ResponseMetadata": {"HTTPStatusCode": status}}
    return ClientError(said, operation)


def throttled(operation: str) -> ClientError:
    """In the words of its service."""
    s3 = operation.endswith(("Object", "Objects", "V2"))
    return refused(operation, "SlowDown", 503) if s3 else refused(operation, "ThrottlingException")
