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


def two_devices(town: DemoStack, write: Callable[[str], None], say: Say) -> list[DemoRow]:
    """Both of Bob's devices see a letter; one acknowledges it, and it is gone for both. `write`: alice.eth to him."""
    keys = town.names.users[BOB]
    with bobs_device(town) as laptop, bobs_device(town) as phone:
        known = {message.id for message in laptop.unread()}
        write("See you at noon")
        letter = until("the laptop sees it", lambda: next((it for it in laptop.unread() if it.id not in known), None))
        message = open_message(read_envelope(letter.json), [keys.encryption])
        expect(message.message == "See you at noon", "Bob's laptop opens it", message)
        say(f"{BOB}'s laptop signs in at https://{DM3_HOST} with the key of his profile, and reads: {message.message}")
        expect(phone.message(letter.id).envelope == letter.envelope, "the phone sees the same", letter)
        say(f"his phone sees it, too: {letter.id}")
        letter.acknowledge()
        say("the laptop has it safe, and acknowledges it")
        left = [it.id for it in phone.unread()]
        expect(letter.id not in left, "it does not come again", left)
        try:
            told = repr(phone.message(letter.id))
        except MessageGoneError as gone:
            told = gone.reason
        expect(told == "MessageUnknown", "it is gone", told)
        say(f"the phone asks for it once more: {told}")
        phone.acknowledge([letter.id])
        say("and acknowledges it as well, which does no harm")
        [row] = [row for row in town.receiver.rows() if id_of(row.key) == letter.id]
        expect(row.why == "acked", "its row is a tombstone", row)
    return [DemoRow("10", f"{ALICE}'s letter, on two devices", "acknowledged on one", f"gone on both ({told})")]


def bobs_device(town: DemoStack) -> Mailbox:
    """The client of Bob's mailbox, as a device of his has it."""
    edge = ("127.0.0.1", town.stack.edge.port)
    return Mailbox(f"https://{DM3_HOST}", BOB, town.names.users[BOB], ca_file=town.stack.authority.pem, connect=edge)
