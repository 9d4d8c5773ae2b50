"""Answers with what it was given, or does what the path asks for."""

import base64
import os
import time
from pathlib import Path

import boto3
import fixturelib


def handler(event, context):
    """Echo the event; under /do, show one kind of answer each."""
    if "connectionId" in event.get("requestContext", {}):
        return SOCKET_ANSWERS.get(event["body"], _echo)(event)
    what = (event.get("pathParameters") or {}).get("what")
    if what is None:
        return {"statusCode": 200, "headers": {"content-type": "application/json"}, "body": _json(event)}
    return ANSWERS[what](event)


def _json(value):
    import json

    return json.dumps(value)


def _echo(event):
    return {"statusCode": 200, "body": _json(event)}


def _fail(event):
    raise RuntimeError("a secret of ours")


def _queue(event):
    boto3.client("sqs").send_message(QueueUrl=os.environ["QUEUE"], MessageBody=event["body"])
    return {"statusCode": 202}


def _where(event):
    print("somebody asked where we are")
    return {
        "account": boto3.client("sts").get_caller_identity()["Account"],
        "greeting": os.environ["GREETING"],
        "layer": fixturelib.__file__,
        "version": fixturelib.VERSION,
        "resolvers": os.environ["RESOLVERS"],
        "environment": sorted(os.environ),
    }


def _forbidden(event):
    boto3.client("dynamodb").scan(TableName=os.environ["TABLE"])


def _store(event):
    boto3.client("s3").put_object(Bucket=os.environ["BUCKET"], Key="kept/it", Body=b"x")
    return "stored"


def _slow(event):
    time.sleep(1)
    return "slept"


def _hold(event):
    """Stay until the test lets all go on."""
    while Path(os.environ["HOME"], "stay").exists():
        time.sleep(0.02)
    return "held"


ANSWERS = {
    "fail": _fail,
    "hold": _hold,
    "exit": lambda event: os._exit(3),
    "queue": _queue,
    "where": _where,
    "slow": _slow,
    "store": _store,
    "forbidden": _forbidden,
    "secret": lambda event: boto3.client("secretsmanager").get_secret_value(SecretId=os.environ["SECRET"])["Name"],
    "text": lambda event: "hello",
    "value": lambda event: {"a": [1, None]},
    "nothing": lambda event: None,
    "empty": lambda event: {"statusCode": 204},
    "plain": lambda event: {"statusCode": 200, "body": "grüße"},
    "bytes": lambda event: {
        "statusCode": 200,
        "headers": {"Content-Type": "application/octet-stream"},
        "body": base64.b64encode(bytes(range(256))).decode(),
        "isBase64Encoded": True,
    },
    "cookies": lambda event: {"statusCode": 200, "cookies": ["a=1; Secure", "b=2"], "body": "{}"},
    "huge": lambda event: {"statusCode": 200, "body": "x" * 7_000_000},
    "large": lambda event: {"statusCode": 200, "body": "x" * 5_000_000},
    "odd": lambda event: {"statusCode": "two hundred"},
}

SOCKET_ANSWERS = {
    "fail": _fail,
    "slow": lambda event: time.sleep(0.5) or {"statusCode": 200, "body": "slept"},
    "refused": lambda event: {"statusCode": 503, "body": "not now"},
    "nothing": lambda event: {"statusCode": 200},
    "huge": lambda event: {"statusCode": 200, "body": "x" * (128 * 1024 + 1)},
    "odd": lambda event: "no object",
}
