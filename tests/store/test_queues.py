from tests.aws import Deployed

from postroom.store.queues import Queue


def test_a_message_is_sent_at_once_or_later_and_at_most_fifteen_minutes_later(deployed: Deployed) -> None:
    queue = Queue(deployed.clients.sqs, deployed.queues["RetryQueue"])
    for delay in (0, 45, 900, 5000):
        queue.send('{"delay":1}', delay)
    assert deployed.delays("RetryQueue") == [0, 45, 900, 900]
    assert deployed.bodies("RetryQueue") == ['{"delay":1}'] * 4


def test_a_message_stands_for_itself_unless_it_is_put_down_to_somebody(deployed: Deployed) -> None:
    queue = Queue(deployed.clients.sqs, deployed.queues["ClaimsQueue"])
    queue.send("{}")
    queue.send("{}", group="somebody")
    assert deployed.groups("ClaimsQueue") == ["", "somebody"]
