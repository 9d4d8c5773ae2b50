"""The owners' scenes of the demo: the mailbox API over HTTPS, one function each."""

from collections.abc import Callable

from postroom.client import Mailbox
from postroom.client.mailbox import MessageGoneError
from postroom.demo.checks import DemoRow, Say, expect
from postroom.demo.deployment import until
from postroom.demo.names import ALICE, BOB
from postroom.demo.stack import DM3_HOST, DemoStack
from postroom.protocols.dm3.envelope import open_message, read_envelope
from postroom.storage.mail.ids import id_of


def two_devices(demo: DemoStack, write: Callable[[str], None], say: Say) -> list[DemoRow]:
    """Both of Bob's devices see a message; one acknowledges it, and it is gone for both. `write`: alice.eth to him."""
    keys = demo.names.users[BOB]
    with bobs_device(demo) as laptop, bobs_device(demo) as phone:
        known = {message.id for message in laptop.unread()}
        write("See you at noon")
        received = until("the laptop sees it", lambda: next((it for it in laptop.unread() if it.id not in known), None))
        message = open_message(read_envelope(received.json), [keys.encryption])
        expect(message.message == "See you at noon", "Bob's laptop opens it", message)
        say(f"{BOB}'s laptop signs in at https://{DM3_HOST} with the key of his profile, and reads: {message.message}")
        expect(phone.message(received.id).envelope == received.envelope, "the phone sees the same", received)
        say(f"his phone sees it, too: {received.id}")
        received.acknowledge()
        say("the laptop has it safe, and acknowledges it")
        left = [it.id for it in phone.unread()]
        expect(received.id not in left, "it does not come again", left)
        try:
            shown = repr(phone.message(received.id))
        except MessageGoneError as gone:
            shown = gone.reason
        expect(shown == "MessageUnknown", "it is gone", shown)
        say(f"the phone asks for it again: {shown}")
        phone.acknowledge([received.id])
        say("and acknowledges it, too, which does no harm")
        [row] = [row for row in demo.receiver.rows() if id_of(row.key) == received.id]
        expect(row.why == "acked", "its row is a tombstone", row)
    return [DemoRow("10", f"{ALICE}'s message, on two devices", "acknowledged on one", f"gone on both ({shown})")]


def bobs_device(demo: DemoStack) -> Mailbox:
    """The client of Bob's mailbox, as a device of his has it."""
    edge = ("127.0.0.1", demo.stack.edge.port)
    return Mailbox(f"https://{DM3_HOST}", BOB, demo.names.users[BOB], ca_file=demo.stack.authority.pem, connect=edge)
