"""moto answers and stores the same without the work that tests/quick_moto.py spares it."""

from typing import Any

import pytest
from botocore.exceptions import ClientError
from tests.aws import Clients, Deployed, deployment, new_clients
from tests.quick_moto import ORIGINALS, SERVICES

TABLE = "PostTable"
NAMES, VALUES = "ExpressionAttributeNames", "ExpressionAttributeValues"
ITEM: dict[str, Any] = {
    "pk": {"S": "p"}, "sk": {"S": "s"}, "a": {"S": "x"}, "n": {"N": "7"}, "l": {"L": [{"N": "1"}, {"S": "two"}]},
    "m": {"M": {"k": {"BOOL": True}, "none": {"NULL": True}}}, "some": {"SS": ["c", "d"]},
}  # fmt: skip
UPDATES: list[tuple[str, dict[str, str], dict[str, Any]]] = [
    ("SET a = :a", {}, {":a": {"S": "y"}}),
    ("SET a = :a, #n = #n + :n REMOVE l[0], m.#k", {"#n": "n", "#k": "k"}, {":a": {"S": "z"}, ":n": {"N": "2"}}),
    ("SET #n = if_not_exists(#n, :n) - :n", {"#n": "absent"}, {":n": {"N": "2"}}),
    ("SET l = list_append(l, :l) ADD some :s", {}, {":l": {"L": [{"S": "3"}]}, ":s": {"SS": ["e"]}}),
    ("DELETE some :s", {}, {":s": {"SS": ["c", "e"]}}),
    ("ADD n :n REMOVE a", {}, {":n": {"N": "-3"}}),
    # Refused.
    ("SET a = absent", {}, {}),
    ("SET a = :a, a = :a", {}, {":a": {"S": "y"}}),
    ("SET pk = :a", {}, {":a": {"S": "y"}}),
    ("SET a = :nothing", {}, {":a": {"S": "y"}}),
    ("SET #no = :a", {}, {":a": {"S": "y"}}),
    ("SET SET", {}, {}),
    ("ADD a :a", {}, {":a": {"S": "y"}}),
]


def told(call: Any, **request: Any) -> Any:
    """What a call answers, without the ids and times of answers; or what moto itself fails with."""
    try:
        answer = call(**request)
    except ClientError as error:
        answer = error.response
    except Exception as error:
        return type(error), str(error)
    metadata = answer.pop("ResponseMetadata", {})
    answer.pop("LastModified", None)
    body = answer.get("Body")
    return {**answer, **({"Body": body.read()} if body else {}), "status": metadata.get("HTTPStatusCode")}


def on_dynamodb(deployed: Deployed) -> list[Any]:
    client, table = deployed.clients.dynamodb, deployed.tables[TABLE]
    key = {name: ITEM[name] for name in ("pk", "sk")}
    found = []
    # Each expression twice: the second time it is remembered.
    for _ in range(2):
        for expression, names, values in UPDATES:
            request: dict[str, Any] = {"UpdateExpression": expression}
            request |= ({NAMES: names} if names else {}) | ({VALUES: values} if values else {})
            update = {"TableName": table, "Key": key, **request}
            found += [
                told(client.put_item, TableName=table, Item=ITEM),
                told(client.update_item, ReturnValues="ALL_NEW", **update),
                told(client.transact_write_items, TransactItems=[{"Update": update}]),
                told(client.get_item, TableName=table, Key=key),
            ]
    absent, where = {**key, "sk": {"S": "t"}}, {"ConditionExpression": "attribute_exists(pk) AND n > :n"}
    setting = {"UpdateExpression": "SET n = :n", VALUES: {":n": {"N": "9"}}}
    return [
        *found,
        told(client.update_item, TableName=table, Key=absent, **where, **setting),
        told(client.update_item, TableName=table, Key=absent, **setting),
        told(client.query, TableName=table, KeyConditionExpression="pk = :p", **{VALUES: {":p": {"S": "p"}}}),
        told(client.batch_get_item, RequestItems={table: {"Keys": [key, absent]}}),
        told(client.delete_item, TableName=table, Key=absent, ReturnValues="ALL_OLD"),
        told(client.get_item, TableName="absent", Key=key),
        told(client.scan, TableName=table),
    ]


def on_others(deployed: Deployed) -> list[Any]:
    clients, url = deployed.clients, deployed.queues["ClaimsQueue"]
    secret = next(iter(deployed.secrets.values()))
    sent = told(clients.sqs.send_message, QueueUrl=url, MessageBody="hello", DelaySeconds=0)
    received = told(clients.sqs.receive_message, QueueUrl=url, MaxNumberOfMessages=10, AttributeNames=["SenderId"])
    for message in received["Messages"]:
        assert message.pop("MessageId")
        assert message.pop("ReceiptHandle")
    assert sent.pop("MessageId")
    put = told(clients.secrets.put_secret_value, SecretId=secret, SecretString="s", ClientRequestToken="t" * 32)
    read = told(clients.secrets.get_secret_value, SecretId=secret)
    # Its ARN has random letters at the end.
    for answer in (put, read):
        assert answer.pop("ARN")
    read.pop("CreatedDate")
    s3 = clients.s3
    return [
        sent, received, put, read,
        told(s3.put_object, Bucket=deployed.bucket, Key="a b/ü", Body=b"\xff" * 10, Metadata={"k": "v"}),
        told(s3.get_object, Bucket=deployed.bucket, Key="a b/ü", Range="bytes=2-4"),
        told(s3.head_object, Bucket=deployed.bucket, Key="absent"),
        told(s3.put_object, Bucket=deployed.bucket, Key="a b/ü", Body=b"", IfNoneMatch="*"),
        [each["Key"] for each in told(s3.list_objects_v2, Bucket=deployed.bucket)["Contents"]],
        told(s3.delete_object, Bucket=deployed.bucket, Key="a b/ü"),
    ]  # fmt: skip


def everything(clients: Clients) -> list[Any]:
    with deployment(clients) as deployed:
        return [*on_dynamodb(deployed), *on_others(deployed), deployed.rows(TABLE)]


def test_answers_and_rows_are_those_of_moto_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    clients = new_clients()
    quick = everything(clients)
    for owner, name, original in ORIGINALS:
        if original is None:
            monkeypatch.delattr(owner, name)
        else:
            monkeypatch.setattr(owner, name, original)
    slow = everything(clients)
    assert len(quick) == len(slow)
    for one, other in zip(quick, slow, strict=True):
        assert one == other
    assert {answer["status"] for answer in slow[:-2] if isinstance(answer, dict)} >= {200, 400, 404}


def test_no_pattern_of_another_service_fits_the_urls_that_the_tests_call() -> None:
    [patterns] = [original for _, name, original in ORIGINALS if name == "backend_url_patterns"]
    assert patterns is not None
    hosts = [client.meta.endpoint_url for client in new_clients().all()]
    urls = [*(f"{host}/" for host in hosts), "https://bucket.s3.eu-west-1.amazonaws.com/segments/1.jsonl"]
    found = [{service for service, pattern in patterns if pattern.match(url)} for url in urls]
    assert found == [{service} for service in (*SERVICES, "s3")]
