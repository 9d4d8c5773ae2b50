"""The open WebSockets of a WebSocket API (AWS, API Gateway, "Use @connections commands in your backend service")."""

from typing import TYPE_CHECKING, Final
from urllib.parse import quote

import boto3
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest

from postroom.core.errors import NotNowError
from postroom.core.reasons import OUTBOUND_FAILED

if TYPE_CHECKING:
    from postroom.net.https import HttpsClient

_SERVICE: Final = "execute-api"
_JSON: Final = "application/json"
_GONE: Final = 410


class ApiGatewayConnections:
    """The WebSockets of the API at a URL, such as wss://….execute-api.eu-west-1.amazonaws.com/dcp.

    Requests go by the courier's HTTPS client: boto3's would load a model of the service, and could not reach the local
    stack's edge.
    """

    def __init__(self, https: "HttpsClient", url: str) -> None:
        self._https = https
        self._base = f"https://{url.removeprefix('wss://')}/@connections"

    def send(self, connection: str, message: bytes) -> bool:
        """Send a message; False: the WebSocket is not open any more. Raises NotNowError(OUTBOUND_FAILED)."""
        url = f"{self._base}/{quote(connection, safe='')}"
        answer = self._https.post(url, message, _JSON, headers=_signed_headers(url, message))
        if answer.status == _GONE:
            return False
        if answer.status != 200:
            raise NotNowError(OUTBOUND_FAILED, f"API Gateway answered {answer.status}")
        return True


def _signed_headers(url: str, message: bytes) -> dict[str, str]:
    """The headers by which API Gateway knows the role of the function, except those that every request has."""
    if boto3.DEFAULT_SESSION is None:
        boto3.setup_default_session()
    session = boto3.DEFAULT_SESSION
    credentials = session.get_credentials() if session else None
    if session is None or credentials is None:
        raise NotNowError(OUTBOUND_FAILED, "there are no credentials of AWS")
    request = AWSRequest("POST", url, data=message)
    SigV4Auth(credentials.get_frozen_credentials(), _SERVICE, session.region_name).add_auth(request)
    return dict(request.headers.items())
