"""Calls of functions through the Lambda API, as API Gateway makes them."""

import logging
from http import HTTPStatus

from botocore.exceptions import BotoCoreError, ClientError

from postroom.core.errors import OurError
from postroom.local.clients import Clients

log = logging.getLogger(__name__)


class InvocationError(OurError):
    """A function gave no result. `status`: what API Gateway answers then."""

    def __init__(self, status: HTTPStatus) -> None:
        super().__init__(status.phrase)
        self.status = status


def invoke(clients: Clients, function: str, payload: bytes) -> bytes:
    """The result of a function for an event, both as JSON. Raises InvocationError."""
    client = clients("lambda")
    try:
        result = client.invoke(FunctionName=function, Payload=payload)
        answer = result["Payload"].read()
    except client.exceptions.TooManyRequestsException:
        raise InvocationError(HTTPStatus.TOO_MANY_REQUESTS) from None
    except (BotoCoreError, ClientError):
        log.exception("function %s could not be called", function)
        raise InvocationError(HTTPStatus.SERVICE_UNAVAILABLE) from None
    if "FunctionError" in result:
        log.warning("function %s failed: %s", function, answer[:2000].decode(errors="replace"))
        raise InvocationError(HTTPStatus.INTERNAL_SERVER_ERROR)
    return answer
