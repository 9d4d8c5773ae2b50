"""The open WebSockets of a WebSocket API (AWS, API Gateway, "Use @connections commands in your backend service")."""

from typing import TYPE_CHECKING, Final
from urllib.parse import quote

import boto3
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest

from postroom.core.errors import NotNowError
from postroom.core.own_faults import OwnFaults, explain
from postroom.core.reasons import OUTBOUND_FAILED

if TYPE_CHECKING:
    from postroom.net.https import HttpsClient

_SERVICE: Final = "execute-api"
_JSON: Final = "application/json"
_SEND: Final = "execute-api:ManageConnections"
_DONE: Final = (200, 204)
_GONE: Final = 410
_CLOSE_SECONDS: Final = 2.0
"""Whoever sent a bad message waits so long at most."""
_FAULTS: Final = {403: "AccessDenied", 429: "LimitExceededException"}
"""What API Gateway means by a status, as other services of AWS name it."""


class ApiGatewayConnections:
    """The WebSockets of the API at a URL, such as wss://….execute-api.eu-west-1.amazonaws.com/dcp.

    Requests go by our own HTTPS client: boto3's would load a model of the service, and could not reach the local
    stack's edge.
    """

    def __init__(self, https: "HttpsClient", url: str, own_faults: OwnFaults) -> None:
        self._https = https
        self._own_faults = own_faults
        self._url = url
        self._base = f"https://{url.removeprefix('wss://')}/@connections"

    def send(self, connection: str, message: bytes) -> bool:
        """Send a message; False: the WebSocket is not open any more. Raises NotNowError(OUTBOUND_FAILED)."""
        url = self._url_of(connection)
        answer = self._https.post(url, message, _JSON, headers=_signed_headers("POST", url, message))
        return self._is_open(answer.status)

    def close(self, connection: str) -> None:
        """Close a WebSocket, unless it is closed already. Raises NotNowError(OUTBOUND_FAILED)."""
        url = self._url_of(connection)
        answer = self._https.delete(url, headers=_signed_headers("DELETE", url, b""), seconds=_CLOSE_SECONDS)
        self._is_open(answer.status)

    def _url_of(self, connection: str) -> str:
        return f"{self._base}/{quote(connection, safe='')}"

    def _is_open(self, status: int) -> bool:
        """Whether the WebSocket was open, by the status of an answer. Raises NotNowError(OUTBOUND_FAILED)."""
        if status == _GONE:
            return False
        if status not in _DONE:
            fault = explain(_FAULTS.get(status, ""), _SEND, "WebSocket API", self._url)
            if fault:
                self._own_faults.note(fault)
            raise NotNowError(OUTBOUND_FAILED, f"API Gateway answered {status}")
        return True


def _signed_headers(method: str, url: str, message: bytes) -> dict[str, str]:
    """The headers by which API Gateway knows the role of the function, except those that every request has."""
    if boto3.DEFAULT_SESSION is None:
        boto3.setup_default_session()
    session = boto3.DEFAULT_SESSION
    credentials = session.get_credentials() if session else None
    if session is None or credentials is None:
        raise NotNowError(OUTBOUND_FAILED, "there are no credentials of AWS")
    request = AWSRequest(method, url, data=message)
    SigV4Auth(credentials.get_frozen_credentials(), _SERVICE, session.region_name).add_auth(request)
    return dict(request.headers.items())
