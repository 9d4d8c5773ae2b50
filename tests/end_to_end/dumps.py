"""Everything that a deployment has stored, as plain values that can be compared."""

from typing import Any

from postroom.local.stack import LocalDeployment

TABLES = ("PostTable", "SeenTable", "DirectoryTable", "LimitsTable", "OutboxTable", "StorageTable")
QUEUES = (
    "ClaimsQueueUrl",
    "RetryQueueUrl",
    "SuspectsQueueUrl",
    "LookUpsQueueUrl",
    "WaitingQueueUrl",
    "DeadLetterQueueUrl",
    "CourierQueueUrl",
    "FeedbackQueueUrl",
    "CourierDeadLetterQueueUrl",
)


def table(deployment: LocalDeployment, output: str) -> list[dict[str, Any]]:
    pages = (
        deployment.client("dynamodb")
        .get_paginator("scan")
        .paginate(TableName=deployment.outputs[output], ConsistentRead=True)
    )
    items: list[dict[str, Any]] = [dict(item) for page in pages for item in page["Items"]]
    return sorted(items, key=repr)


def objects(deployment: LocalDeployment) -> dict[str, bytes]:
    s3, bucket = deployment.client("s3"), deployment.outputs["Bucket"]
    names = [
        item["Key"]
        for page in s3.get_paginator("list_objects_v2").paginate(Bucket=bucket)
        for item in page.get("Contents", [])
    ]
    return {name: s3.get_object(Bucket=bucket, Key=name)["Body"].read() for name in names}


def queues(deployment: LocalDeployment) -> dict[str, int]:
    sqs = deployment.client("sqs")
    found = {}
    for output in QUEUES:
        attributes = sqs.get_queue_attributes(QueueUrl=deployment.outputs[output], AttributeNames=["All"])["Attributes"]
        found[output] = sum(int(value) for name, value in attributes.items() if name.startswith("ApproximateNumber"))
    return found


def everything(deployment: LocalDeployment) -> dict[str, Any]:
    return {
        **{output: table(deployment, output) for output in TABLES},
        "objects": objects(deployment),
        "queues": queues(deployment),
    }
