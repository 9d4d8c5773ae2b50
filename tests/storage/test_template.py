from tests.aws import Deployed


def test_the_tests_run_on_the_templates_resources(deployed: Deployed) -> None:
    assert set(deployed.tables) == {
        "PostTable",
        "SeenTable",
        "DirectoryTable",
        "LimitsTable",
        "OutboxTable",
        "StorageTable",
        "DcpTable",
    }
    redrive = deployed.clients.sqs.get_queue_attributes(
        QueueUrl=deployed.queues["ClaimsQueue"], AttributeNames=["RedrivePolicy"]
    )["Attributes"]["RedrivePolicy"]
    assert "DeadLetterQueue" in redrive
    ttl = deployed.clients.dynamodb.describe_time_to_live(TableName=deployed.tables["SeenTable"])
    assert ttl["TimeToLiveDescription"]["AttributeName"] == "ttl"
    assert deployed.clients.secrets.get_secret_value(SecretId=deployed.secrets["SigningKeys"])["SecretString"] == "{}"
    assert deployed.dump()["objects"] == {}
