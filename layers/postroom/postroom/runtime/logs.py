"""The functions' logs: lines of JSON."""

import logging

import orjson
from aws_lambda_powertools import Logger


def _serialize(line: object) -> str:
    return orjson.dumps(line, default=str).decode()


def json_logger() -> Logger:
    """The logger of powertools, for lines that may be as many as the messages.

    Logs are paid by the byte (docs/operate/cost.md): where in the code, and the trace that Lambda makes of every
    invocation though nothing is traced, say nothing here. And messages are words of ours: not each has to be tried as
    JSON.
    """
    # Whatever level an operator sets for all: at DEBUG botocore writes down what AWS answers, our keys among it.
    logging.getLogger("botocore").setLevel(logging.INFO)
    return Logger(location=None, xray_trace_id=None, json_serializer=_serialize, json_deserializer=str)
