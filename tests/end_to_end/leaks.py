"""A search for key bytes in everything that a run stored, in any encoding in which they could have been written."""

import base64
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from postroom.local.stack import LocalDeployment

PIECE_BYTES = 16
"""Each piece of a key of this length is searched for, because a part of a key is also a leak."""


def leaks(left: Mapping[str, bytes], keys: Mapping[str, bytes]) -> list[str]:
    """The keys found: place, name of the key, and its encoding. `keys`, `places`: by name."""
    forms = {name: dict(_forms(key)) for name, key in keys.items()}
    return [
        f"{place}: {name}, {form}"
        for place, data in left.items()
        for name, written in forms.items()
        for form, trace in written.items()
        if trace in data
    ]


def _forms(key: bytes) -> Iterator[tuple[str, bytes]]:
    for at in range(0, len(key) - PIECE_BYTES + 1, PIECE_BYTES):
        piece = key[at : at + PIECE_BYTES]
        where = f"bytes {at} to {at + PIECE_BYTES}"
        yield f"{where} as they are", piece
        yield f"{where} in hex", piece.hex().encode()
        yield f"{where} in HEX", piece.hex().upper().encode()
        yield f"{where} as Python shows them", repr(piece)[2:-1].encode()
        yield f"{where} as a list of numbers", ", ".join(map(str, piece)).encode()
        yield f"{where} as a JSON array", ",".join(map(str, piece)).encode()
        for before in range(3):
            # A key may begin at any offset in a longer base64 text (PEM, PKCS #8, a JSON Web Token).
            text = base64.b64encode(bytes(before) + piece)
            end = len(text) - 4 if (before + len(piece)) % 3 else len(text)
            inner = text[4 if before else 0 : end]
            yield f"{where} in base64 after {before}", inner
            yield f"{where} in base64url after {before}", inner.translate(bytes.maketrans(b"+/", b"-_"))


def left_behind(deployment: LocalDeployment) -> dict[str, bytes]:
    """Everything that a deployment stores outside of Secrets Manager, by place."""
    client = deployment.client
    found = dict(_logs(deployment))
    for table in client("dynamodb").list_tables()["TableNames"]:
        pages = client("dynamodb").get_paginator("scan").paginate(TableName=table, ConsistentRead=True)
        found[f"table {table}"] = b"\n".join(_flat([page["Items"] for page in pages]))
    s3 = client("s3")
    for bucket in s3.list_buckets()["Buckets"]:
        for page in s3.get_paginator("list_objects_v2").paginate(Bucket=bucket["Name"]):
            for item in page.get("Contents", []):
                answer = s3.get_object(Bucket=bucket["Name"], Key=item["Key"])
                said = [item["Key"], answer["Metadata"], answer["Body"].read()]
                found[f"object {bucket['Name']}/{item['Key']}"] = b"\n".join(_flat(said))
    for url in client("sqs").list_queues().get("QueueUrls", []):
        found[f"queue {url.rpartition('/')[2]}"] = b"\n".join(_flat(list(_messages(deployment, url))))
    for function in client("lambda").list_functions()["Functions"]:
        name = function["FunctionName"]
        said = client("lambda").get_function_configuration(FunctionName=name)
        found[f"function {name}"] = b"\n".join(_flat(said))
    for stack in client("cloudformation").describe_stacks()["Stacks"]:
        found[f"stack {stack['StackName']}"] = b"\n".join(_flat(stack))
    return found


def files_in(folder: Path) -> dict[str, bytes]:
    """All files below a folder: the embedded AWS, its log, and what functions wrote to /tmp.

    An instance of a function may end meanwhile: its files are left out.
    """
    found = {}
    for parent, _, names in os.walk(folder):
        for path in (Path(parent, name) for name in names):
            with suppress(FileNotFoundError):
                if path.is_file():
                    found[f"file {path}"] = path.read_bytes()
    return found


def _logs(deployment: LocalDeployment) -> Iterator[tuple[str, bytes]]:
    logs = deployment.client("logs")
    for group in logs.describe_log_groups()["logGroups"]:
        pages = logs.get_paginator("filter_log_events").paginate(logGroupName=group["logGroupName"])
        lines = [event["message"] for page in pages for event in page["events"]]
        yield f"log group {group['logGroupName']}", "\n".join(lines).encode()


def _messages(deployment: LocalDeployment, url: str) -> Iterator[Any]:
    """The messages of a queue without consumers; they stay in it, and are invisible for a while."""
    sqs = deployment.client("sqs")
    while messages := sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages"):
        yield from messages


def _flat(value: object) -> Iterator[bytes]:
    """All texts and bytes in a value, with the names of members; a JSON text also as its parsed value."""
    if isinstance(value, bytes):
        yield value
    elif isinstance(value, str):
        yield value.encode("utf-8", "surrogatepass")
        if value[:1] in "{[":
            with suppress(ValueError):
                yield from _flat(json.loads(value))
    elif isinstance(value, Mapping):
        yield from _flat(list(value))
        yield from _flat(list(value.values()))
    elif isinstance(value, list):
        for each in value:
            yield from _flat(each)
    else:
        yield repr(value).encode()
