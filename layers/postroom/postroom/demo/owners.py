"""The demo's scene of the mailbox API: Bob reads his mail over HTTPS, on two devices."""

from collections.abc import Callable

from postroom.client import Mailbox
from postroom.client.mailbox import MessageGoneError
from postroom.demo.checks import DemoRow, Say, expect
from postroom.demo.deployment import until
from postroom.demo.names import ALICE, BOB
from postroom.demo.stack import DM3_HOST, DemoStack
from postroom.local.patience import PATIENCE_SECONDS
from postroom.storage.mail.ids import id_of


def two_devices(demo: DemoStack, write: Callable[[str], None], say: Say) -> list[DemoRow]:
    """Both devices see a message, until one acknowledges it. `write`: sends a text from alice.eth to Bob."""
    with bobs_device(demo) as laptop, bobs_device(demo) as phone:
        known = {message.id for message in laptop.unread()}
        write("See you at noon")
        received = until("the laptop sees it", lambda: next((it for it in laptop.unread() if it.id not in known), None))
        message = received.open()
        expect(message.message == "See you at noon", "Bob's laptop opens it", message)
        say(f"{BOB}'s laptop signs in at https://{DM3_HOST} with the key of his profile, and reads: {message.message}")
        expect(phone.message(received.id).envelope == received.envelope, "the phone sees the same", received)
        say(f"his phone sees it, too: {received.id}")
        received.acknowledge()
        say("the laptop has stored it, and acknowledges it")
        left = [it.id for it in phone.unread()]
        expect(received.id not in left, "an acknowledged message is not listed", left)
        try:
            shown = repr(phone.message(received.id))
        except MessageGoneError as gone:
            shown = gone.reason
        expect(shown == "MessageUnknown", "the acknowledged message is gone", shown)
        say(f"the phone asks for it again: {shown}")
        phone.acknowledge([received.id])
        say("the phone acknowledges it as well, which changes nothing")
        [row] = [row for row in demo.receiver.rows() if id_of(row.key) == received.id]
        expect(row.why == "acked", "its row is a tombstone", row)
    return [DemoRow("10", f"{ALICE}'s message, on two devices", "acknowledged on one", f"gone on both ({shown})")]


def bobs_device(demo: DemoStack) -> Mailbox:
    """A client of Bob's mailbox, as on one of his devices."""
    return device_of(demo, BOB)


def device_of(demo: DemoStack, name: str) -> Mailbox:
    """A client of the mailbox of a dm3 name, as on one of its owner's devices."""
    edge = ("127.0.0.1", demo.stack.edge.port)
    keys = demo.names.keys_of(name)
    return Mailbox(
        f"https://{DM3_HOST}", name, keys, ca_file=demo.stack.authority.pem, connect=edge, timeout=PATIENCE_SECONDS
    )
