"""A job as Glue runs it: with the arguments that the template gives it, and no more than its role allows."""

import os
import time
from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError
from tests.roles import session_of
from tests.sparks import ON_SPARK, run_job_here

from postroom.core.settings import read_outputs
from postroom.local.checkout import template_path
from postroom.local.clients import REGION, clean_session
from postroom.local.spark import environment_of
from postroom.local.stack import LocalDeployment, LocalStack
from postroom.runtime.deployment import Deployment
from postroom.storage.containers.rows import StorageUsage
from postroom.storage.layout import RowKey, claim_name, row_key, segment_name
from postroom.storage.mail.segments import Line, lay_out

pytestmark = ON_SPARK

MAILBOX = "receiver.example"


@pytest.fixture(scope="module")
def deployment() -> Iterator[LocalDeployment]:
    with LocalStack(template_path()) as stack:
        yield stack.deploy("night")


def job_of(deployment: LocalDeployment, job: str) -> dict[str, Any]:
    return dict(deployment.client("glue").get_job(JobName=deployment.outputs[job])["Job"])


def signed_by(deployment: LocalDeployment, job: str) -> dict[str, str]:
    """What the job's role signs with, as the environment says it."""
    return session_of(deployment, job_of(deployment, job)["Role"])


def run(deployment: LocalDeployment, job: str) -> None:
    said = job_of(deployment, job)
    arguments = said["DefaultArguments"] | {
        "--JOB_NAME": said["Name"],
        "--ENDPOINT_URL": deployment.client.endpoint,
        # The emulator asks for CreateLogStream of the group's ARN without `:*`, which AWS does not.
        "--LOG_GROUP": "",
    }
    environment = environment_of(deployment.client.at, REGION) | signed_by(deployment, job)
    name = said["Command"]["ScriptLocation"].rpartition("/")[2].partition("-")[0]
    script = template_path().parent / "glue_jobs" / f"{name}.py"
    run_job_here(script, [word for argument in arguments.items() for word in argument], environment)


def file_two_days_ago(deployment: LocalDeployment, count: int) -> list[RowKey]:
    """Messages in one segment; the first is acknowledged."""
    at_ms = round(time.time() * 1000) - 2 * 86_400_000
    rows = [row_key(MAILBOX, 1, at_ms, f"{number:032x}") for number in range(count)]
    name = segment_name(at_ms, os.urandom(16).hex())
    data, places = lay_out([Line(row, "news", "{}", {}) for row in rows], name)
    deployment.client("s3").put_object(Bucket=deployment.outputs["Bucket"], Key=name, Body=data)
    for row, place in zip(rows, places, strict=True):
        gone = {"st": {"S": "G"}, "why": {"S": "acked"}, "ttl": {"N": str(at_ms // 1000 + 22 * 86_400)}}
        live = {
            "st": {"S": "L"},
            "c": {"S": "news"},
            "o": {"S": place.object},
            "off": {"N": str(place.offset)},
            "len": {"N": str(place.length)},
        }
        deployment.client("dynamodb").put_item(
            TableName=deployment.outputs["PostTable"],
            Item={"pk": {"S": row.pk}, "sk": {"S": row.sk}, **(gone if row == rows[0] else live)},
        )
    return rows


def names(deployment: LocalDeployment) -> list[str]:
    found = deployment.client("s3").list_objects_v2(Bucket=deployment.outputs["Bucket"])
    return [entry["Key"] for entry in found.get("Contents", [])]


def object_of(deployment: LocalDeployment, row: RowKey) -> str | None:
    key = {"pk": {"S": row.pk}, "sk": {"S": row.sk}}
    found = deployment.client("dynamodb").get_item(TableName=deployment.outputs["PostTable"], Key=key)
    return found["Item"].get("o", {}).get("S")


def test_compaction_can_do_its_work_in_its_role(deployment: LocalDeployment) -> None:
    acknowledged, *waiting = file_two_days_ago(deployment, 3)
    run(deployment, "CompactJob")
    left = names(deployment)
    [chunk] = [name for name in left if name.startswith("chk/")]
    assert [object_of(deployment, row) for row in waiting] == [chunk, chunk]
    assert object_of(deployment, acknowledged) is None
    assert [name for name in left if name.startswith("seg/")] == []
    assert "jobs/reports/compact/latest.json" in left


FORBIDDEN = [
    ("CompactJob", "list_objects_v2", {"Prefix": "box/"}),
    ("CompactJob", "put_object", {"Key": "seg/2026/01/01/00/x.jsonl", "Body": b""}),
    ("CompactJob", "delete_object", {"Key": "box/x"}),
    ("ExpireJob", "list_objects_v2", {"Prefix": "registry/"}),
    ("ExpireJob", "put_object", {"Key": "chk/2026/01/01/00/x.jsonl", "Body": b""}),
    ("ExpireJob", "delete_object", {"Key": "registry/names.yaml"}),
]


@pytest.mark.parametrize(("job", "call", "request_"), FORBIDDEN)
def test_a_job_is_denied_everything_else(
    deployment: LocalDeployment, job: str, call: str, request_: dict[str, object]
) -> None:
    signed = {name.lower(): value for name, value in signed_by(deployment, job).items()}
    client = clean_session().client("s3", endpoint_url=deployment.client.endpoint, **signed)
    with pytest.raises(ClientError, match="AccessDenied"):
        getattr(client, call)(Bucket=deployment.outputs["Bucket"], **request_)


def test_expiry_can_do_its_work_in_its_role(deployment: LocalDeployment) -> None:
    s3, bucket = deployment.client("s3"), deployment.outputs["Bucket"]
    parts = Deployment(read_outputs(deployment.outputs), deployment.client).storage
    mailboxes = parts.mailboxes
    mailboxes.set_ttl("over.example", 40)
    mailboxes.hold("held.example")
    at_ms = round(time.time() * 1000) - 41 * 86_400_000
    row = row_key("over.example", 1, at_ms, "f" * 32)
    name = segment_name(at_ms, os.urandom(16).hex())
    data, [place] = lay_out([Line(row, "news", "{}", {})], name)
    s3.put_object(Bucket=bucket, Key=name, Body=data)
    parts.register.file(row, place, "news")
    parts.usages.add("over.example", 1, place.length)
    storage = parts.containers
    storage.add_part("over.example", b"stale", at_ms // 1000)
    s3.put_object(Bucket=bucket, Key=claim_name(at_ms, "old"), Body=b"")
    s3.create_multipart_upload(Bucket=bucket, Key="box/large")
    run(deployment, "ExpireJob")
    assert object_of(deployment, row) is None
    assert parts.usages.read("over.example").messages == 0
    assert storage.use("over.example") == StorageUsage()
    left = names(deployment)
    assert name not in left
    assert [each for each in left if each.startswith(("claim/", "box/"))] == []
    assert "jobs/reports/expire/latest.json" in left
