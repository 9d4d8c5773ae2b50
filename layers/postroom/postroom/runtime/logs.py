"""The functions' logs: lines of JSON."""

import logging

import orjson
from aws_lambda_powertools import Logger

from postroom.core.shown_stack import show_stack


def _serialize(line: object) -> str:
    return orjson.dumps(line, default=str).decode()


def json_logger() -> Logger:
    """The logger of powertools, for as many lines as there are messages.

    Logs are paid by the byte (docs/operate/cost.md). So the place in the code, and the trace id that Lambda gives every
    invocation though nothing is traced, are left out. The messages are texts of our own, and need not be tried as JSON.
    """
    # Whatever level an operator sets for all: at DEBUG, botocore logs AWS's answers, and our keys with them.
    logging.getLogger("botocore").setLevel(logging.INFO)
    # What modules log goes to Lambda's own handler, as text: an unexpected error may repeat what a stranger sent.
    for handler in logging.getLogger().handlers:
        handler.addFilter(show_stack)
    return Logger(location=None, xray_trace_id=None, json_serializer=_serialize, json_deserializer=str)
