"""Functions as the template starts them, in this process, with routers in memory."""

import importlib
import io
import json
import os
from contextlib import redirect_stdout
from typing import Any
from unittest.mock import patch

from aws_lambda_powertools.utilities.typing import LambdaContext

from postroom.http.router import Router

ENVIRONMENT = {
    "AWS_DEFAULT_REGION": "eu-west-1", "POWERTOOLS_LOG_LEVEL": "CRITICAL",
    "POWERTOOLS_METRICS_NAMESPACE": "fuzz", "POWERTOOLS_SERVICE_NAME": "fuzz",
    **dict.fromkeys(("DIRECTORY_TABLE", "SEEN_TABLE", "LIMITS_TABLE", "POST_TABLE", "DCP_TABLE", "BUCKET"), "none"),
    **dict.fromkeys(("OUTBOX_TABLE", "STORAGE_TABLE"), "none"),
    **dict.fromkeys(("COURIER_QUEUE_URL", "CLAIMS_QUEUE_URL", "NAMES_QUEUE_URL"), "none"),
    **dict.fromkeys(("LOOK_UPS_QUEUE_URL", "RETRY_QUEUE_URL", "WAITING_QUEUE_URL"), "none"),
    **dict.fromkeys(
        (
            "DM3_KEYS_SECRET", "TOKEN_KEYS_SECRET", "WEBHOOK_KEYS_SECRET", "DCP_IDENTITIES_SECRET",
            "CHAIN_ENDPOINTS_SECRET",
        ),
        "none",
    ),
}  # fmt: skip
CONTEXT = LambdaContext()
CONTEXT._aws_request_id = "fuzz"


def started(function: str, router: Router) -> Any:
    """A function, but for its router."""
    with patch.dict(os.environ, ENVIRONMENT):
        app = importlib.import_module(f"functions.{function}.app")
    app.router = router  # type: ignore[attr-defined]
    return app


def answered(function: Any, event: Any) -> Any:
    """The answer to an event: never a 5xx, nor one whose headers are split, nor one that is not JSON."""
    with redirect_stdout(io.StringIO()):  # its metrics
        answer = function.handler(event, CONTEXT)
    assert 200 <= answer["statusCode"] < 500, answer
    assert not any("\n" in value or "\r" in value for value in answer["headers"].values()), "headers are split"
    json.dumps(answer).encode()
    return answer
