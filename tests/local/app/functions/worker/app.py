"""Writes each queue message to the table; one that says "bad" is reported as failed; ticks are counted."""

import os
from importlib.metadata import version

import boto3
import fixturelib

TABLE = boto3.client("dynamodb")


def handler(event, context):
    """Handle a batch of queue messages or a tick of the schedule."""
    if event.get("tick"):
        _put("tick")
        return None
    failed = []
    for record in event["Records"]:
        if record["body"] == "bad":
            failed.append({"itemIdentifier": record["messageId"]})
        else:
            _put(record["body"])
    return {"batchItemFailures": failed}


def _put(key):
    account = boto3.client("sts").get_caller_identity()["Account"]
    item = {"pk": key, "account": account, "boto3": version("boto3"), "v": str(fixturelib.VERSION)}
    TABLE.put_item(TableName=os.environ["TABLE"], Item={k: {"S": v} for k, v in item.items()})
