"""The functions' logs: lines of JSON."""

import logging

import orjson
from aws_lambda_powertools import Logger


def _serialize(line: object) -> str:
    return orjson.dumps(line, default=str).decode()


def json_logger() -> Logger:
    """The logger of powertools, for as many lines as there are messages.

    Logs are paid by the byte (docs/operate/cost.md). So the place in the code, and the trace id that Lambda gives every
    invocation though nothing is traced, are left out. The messages are texts of our own, and need not be tried as JSON.
    """
    # Whatever level an operator sets for all: at DEBUG, botocore logs AWS's answers, and our keys with them.
    logging.getLogger("botocore").setLevel(logging.INFO)
    return Logger(location=None, xray_trace_id=None, json_serializer=_serialize, json_deserializer=str)
