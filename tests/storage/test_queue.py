import pytest
from tests.aws import Deployed, resources

from postroom.storage.aws.queue import Queue


def test_a_message_is_sent_at_once_or_later_and_at_most_fifteen_minutes_later(deployed: Deployed) -> None:
    queue = deployed.storage.retry_queue
    for delay in (0, 45, 900, 5000):
        queue.send('{"delay":1}', delay)
    assert deployed.delays("RetryQueue") == [0, 45, 900, 900]
    assert deployed.bodies("RetryQueue") == ['{"delay":1}'] * 4


def test_a_message_is_its_own_group_unless_one_is_given(deployed: Deployed) -> None:
    queue = deployed.storage.claims_queue
    queue.send("{}")
    queue.send("{}", group="somebody")
    assert deployed.groups("ClaimsQueue") == ["", "somebody"]


def test_the_length_of_a_queue_counts_visible_hidden_and_delayed_messages(deployed: Deployed) -> None:
    queue = deployed.storage.waiting_queue
    assert queue.length() == 0
    queue.send("{}")
    queue.send("{}")
    queue.send("{}", 900)
    deployed.clients.sqs.receive_message(QueueUrl=deployed.queues["WaitingQueue"], VisibilityTimeout=900)
    assert queue.length() == 3


@pytest.mark.parametrize("name", ["ClaimsQueue", "RetryQueue", "SuspectsQueue", "CourierQueue", "FeedbackQueue"])
def test_a_message_is_received_a_limited_number_of_times_and_is_then_a_dead_letter(
    deployed: Deployed, name: str
) -> None:
    queue, policy = deployed.queues[name], resources("AWS::SQS::Queue")[name]["RedrivePolicy"]
    dead_letters = policy["deadLetterTargetArn"]["Fn::GetAtt"].removesuffix(".Arn")
    Queue(deployed.clients.sqs, queue).send("{}")

    def is_handed_out() -> bool:
        return "Messages" in deployed.clients.sqs.receive_message(QueueUrl=queue, VisibilityTimeout=0)

    assert all(is_handed_out() for _ in range(policy["maxReceiveCount"]))
    assert deployed.bodies(dead_letters) == []
    assert not is_handed_out()
    assert (deployed.bodies(name), deployed.bodies(dead_letters)) == ([], ["{}"])
