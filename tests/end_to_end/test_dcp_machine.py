"""Bob's mailboxes over DCP, with cheques, thieves and instances that end, at a real deployment of the local stack.

Each answer must be one that a plain model (dcp_model.py) allows, and each operation was performed as often as it says.
More examples are played by `MACHINE_EXAMPLES=50`.
"""

import os
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from copy import deepcopy
from dataclasses import replace
from itertools import count

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    MultipleResults,
    RuleBasedStateMachine,
    initialize,
    invariant,
    multiple,
    rule,
    run_state_machine_as_test,
)
from tests.end_to_end.dcp_model import (
    DAY,
    SHORTEST_TTL,
    SLOP_SECONDS,
    Answer,
    Mailbox,
    Message,
    Model,
    Payload,
    Session,
)
from tests.end_to_end.dcp_wire import Guardian, mailbox_key
from tests.end_to_end.machines import at_the_stack
from tests.tiers import amount

from postroom.demo.deployment import DemoDeployment, until
from postroom.demo.stack import RECEIVER, DemoStack

# One stack serves all of these: they run in one process.
pytestmark = pytest.mark.xdist_group("demo")

EXAMPLES = int(os.environ.get("MACHINE_EXAMPLES", amount(quick=1, all=2, proof=40)))
STEPS = 20
NUMBERS = count(1)
"""Of what must be new in each example: mailboxes, halves of sessions, stamps and ids."""
NAMES = ("bob", "wes", "jack")
PEERS = st.sampled_from(NAMES)
MAILBOXES = st.sampled_from([0, 1])
OPERATIONS = st.sampled_from(["add_part", "add_part", "status", "sign_out"])
DATED = st.sampled_from([0, 0, -300, -2 * DAY, 3600])
"""When a cheque is dated, in seconds after now: the last two have expired, or do not count yet."""
BUSY = 2
"""Ann's mailbox, for which an instance waits; nothing else is done with it."""


class DcpMachine(RuleBasedStateMachine):
    """Messages of Bob, who has the mailboxes; of Wes, for whom he writes cheques; and of Jack, who steals."""

    sessions, cheques, messages = Bundle("sessions"), Bundle("cheques"), Bundle("messages")

    def __init__(self, guardian: Guardian, receiver: DemoDeployment) -> None:
        super().__init__()
        self._guardian, self._receiver = guardian, receiver
        self._pool = ThreadPoolExecutor(2)
        owners = {f"dcp{next(NUMBERS)}.{RECEIVER}": owner for owner in ("bob", "bob", "ann")}
        self._names = list(owners)
        self._model = Model({name: Mailbox(owner) for name, owner in owners.items()})
        self._busy: tuple[Message, Future[Answer]] | None = None
        for name, owner in owners.items():
            receiver.mailboxes.set_keys(name, [mailbox_key(owner)])

    def teardown(self) -> None:
        self._wait_for_the_busy_one()
        self._pool.shutdown()

    @invariant()
    def each_operation_was_performed_as_often_as_the_model_says(self) -> None:
        for name in self._names[:BUSY]:
            mailbox = self._model.mailboxes[name]
            assert self._counted(name) == (mailbox.parts, mailbox.sign_outs)

    # --- sessions and cheques ----------------------------------------------------------------------------------------
    @initialize(target=sessions)
    def all_connect(self) -> MultipleResults[str]:
        return multiple(*map(self._connect, NAMES))

    @initialize(target=cheques)
    def bob_writes_to_wes(self) -> MultipleResults[Payload]:
        return multiple(*(self._write(0, "add_part", "bob", "wes", 0) for _ in range(2)))

    @rule(target=sessions, peer=PEERS)
    def connect(self, peer: str) -> str:
        return self._connect(peer)

    @rule(target=cheques, mailbox=MAILBOXES, operation=OPERATIONS, signer=PEERS, accessor=PEERS, dated=DATED)
    def write(self, mailbox: int, operation: str, signer: str, accessor: str, dated: int) -> Payload:
        return self._write(mailbox, operation, signer, accessor, dated)

    @rule(target=cheques, cheque=cheques, mailbox=MAILBOXES, signer=PEERS, accessor=PEERS)
    def write_with_the_stamp_of_another(self, cheque: Payload, mailbox: int, signer: str, accessor: str) -> Payload:
        return replace(self._write(mailbox, "add_part", signer, accessor, 0), stamp=cheque.stamp)

    @rule(target=cheques, mailbox=MAILBOXES, accessor=PEERS, seconds=st.sampled_from([1, 2, 5]))
    def write_one_that_expires_soon(self, mailbox: int, accessor: str, seconds: int) -> Payload:
        """With the shortest ttl, which is over in so many seconds, or in one less."""
        dated = seconds - SHORTEST_TTL - SLOP_SECONDS
        return replace(self._write(mailbox, "add_part", "bob", accessor, dated), ttl=SHORTEST_TTL)

    # --- messages ----------------------------------------------------------------------------------------------------
    @rule(target=messages, cheque=cheques, over_socket=st.booleans())
    def present(self, cheque: Payload, over_socket: bool) -> Message:
        """Present a cheque in a session of the one that it was written for."""
        return self._send(self._session_of(cheque.accessor), cheque, over_socket=over_socket)

    @rule(target=messages, mailbox=MAILBOXES, accessor=PEERS, before=st.booleans())
    def present_until_it_expires(self, mailbox: int, accessor: str, before: bool) -> Message:
        """Perhaps before it expires; and as soon as it has expired."""
        cheque = self.write_one_that_expires_soon(mailbox, accessor, 2)
        if before:
            self._send(self._session_of(accessor), cheque)
        while time.time() <= cheque.counts_until:
            time.sleep(0.1)
        return self._send(self._session_of(accessor), cheque)

    @rule(target=messages, session=sessions, batch=st.lists(cheques, min_size=1, max_size=4), over_socket=st.booleans())
    def present_in_a_batch(self, session: str, batch: list[Payload], over_socket: bool) -> Message:
        return self._send(session, *batch, batched=True, over_socket=over_socket)

    @rule(target=messages, session=sessions, mailbox=MAILBOXES, operation=OPERATIONS, authorized=st.booleans())
    def ask(self, session: str, mailbox: int, operation: str, authorized: bool) -> Message:
        peer = self._model.sessions[session].peer
        return self._send(session, self._write(mailbox, operation, peer if authorized else "", peer, 0))

    @rule(target=messages, session=sessions, cheque=cheques, authorized=st.sampled_from([True, True, False]))
    def revoke(self, session: str, cheque: Payload, authorized: bool) -> Message:
        return self._send(session, self._revocation(session, cheque, authorized=authorized))

    @rule(target=messages, cheque=cheques)
    def revoke_in_a_batch_before_it_is_presented(self, cheque: Payload) -> Message:
        session = self._session_of(cheque.signer)
        return self._send(session, self._revocation(session, cheque, authorized=True), cheque, batched=True)

    @rule(target=messages, session=sessions, after=st.lists(cheques, max_size=2))
    def close(self, session: str, after: list[Payload]) -> Message:
        peer = self._model.sessions[session].peer
        closing = Payload("close", "", peer, str(next(NUMBERS)), int(time.time()))
        return self._send(session, closing, *after, batched=bool(after))

    @rule(message=messages, over_socket=st.booleans())
    def send_the_same_again(self, message: Message, over_socket: bool) -> None:
        self._exchange(message, over_socket=over_socket)

    @rule(target=messages, cheque=cheques, mailbox=MAILBOXES)
    def use_an_id_again(self, cheque: Payload, mailbox: int) -> MultipleResults[Message]:
        """A request that is refused because of its id leaves its stamp free, and because of its stamp, its id."""
        session = self._session_of(cheque.accessor)
        first = self._send(session, cheque)
        payload = self._write(mailbox, "add_part", "bob", cheque.accessor, 0)
        [(name, _)] = first.requests
        again = self._exchange(replace(self._message(session), requests=((name, payload),)))
        return multiple(first, again, self._send(session, payload))

    @rule(target=messages, session=sessions, cheque=cheques)
    def use_an_earlier_nonce(self, session: str, cheque: Payload) -> Message:
        return self._exchange(self._message(session, cheque, nonce=self._model.sessions[session].nonces[0]))

    @rule(target=messages, session=sessions, cheque=cheques, thief=PEERS)
    def use_the_session_of_another(self, session: str, cheque: Payload, thief: str) -> Message:
        return self._exchange(replace(self._message(session, cheque), sender=thief))

    # --- two instances -----------------------------------------------------------------------------------------------
    @rule(cheque=cheques)
    def present_in_two_sessions_at_once(self, cheque: Payload) -> None:
        self._at_once(*(self._message(self._connect(cheque.accessor), cheque) for _ in range(2)))

    @rule(session=sessions, cheque=cheques)
    def send_the_same_twice_at_once(self, session: str, cheque: Payload) -> None:
        message = self._message(session, cheque)
        self._at_once(message, message)

    @rule()
    def keep_an_instance_busy(self) -> None:
        """Another one takes the messages for a while."""
        self._wait_for_the_busy_one()
        waiting = self._message(self._connect("ann"), self._write(BUSY, "messages", "ann", "ann", 0))
        self._busy = waiting, self._pool.submit(self._guardian.send, waiting)

    @rule(target=messages, cheque=cheques, again=st.booleans())
    def present_to_a_second_instance(self, cheque: Payload, again: bool) -> Message:
        """The first one waits for mail meanwhile; then it may get the same cheque."""
        self.end_all_instances()
        held = self._guardian.held()
        self.keep_an_instance_busy()
        assert self._busy
        answered = self._busy[1]
        until("an instance waits", lambda: self._guardian.held() - held or answered.done() or None)
        [first] = self._guardian.instances()
        message = self._send(self._session_of(cheque.accessor), cheque)
        second = self._guardian.instances() - {first}
        if not second and not self._guardian.held() - held:
            return message  # on a busy machine, the first one may have waited to the end before the cheque came
        assert len(second) == 1, "another instance has answered"
        self._wait_for_the_busy_one()
        if again:
            self._guardian.end_instances(second)
            message = self._send(self._session_of(cheque.accessor), cheque)
            assert self._guardian.instances() == {first}, "the first one has answered"
        return message

    @rule()
    def end_all_instances(self) -> None:
        self._wait_for_the_busy_one()
        self._guardian.end_instances()
        self._model.restart()

    @rule(target=cheques, peer=PEERS, mailbox=MAILBOXES, milliseconds=st.integers(0, 60))
    def end_all_instances_while_one_has_a_cheque(self, peer: str, mailbox: int, milliseconds: int) -> Payload:
        """Then it is presented again: in all, it counts once or never."""
        self._wait_for_the_busy_one()
        cheque = self._write(mailbox, "add_part", "bob", peer, 0)
        lost, again = (self._message(self._connect(peer), cheque) for _ in range(2))
        states = list(self._model.interrupted(lost, time.time()))
        sending = self._pool.submit(self._guardian.send_while_instances_end, lost)
        time.sleep(milliseconds / 1000)
        self._guardian.end_instances()
        sending.result()
        answer = self._guardian.send(again)
        for state in states:
            state.restart()
            del state.sessions[lost.dcpsid]
        self._go_on_as_one_of([(state, [(again, answer)]) for state in states])
        return cheque

    # --- what the operator does --------------------------------------------------------------------------------------
    @rule(target=messages, mailbox=MAILBOXES, seconds_ago=st.sampled_from([0, 120]))
    def sign_out_over_another_interface(self, mailbox: int, seconds_ago: int) -> Message:
        """Now, or so long ago that what is dated now counts; what is dated earlier does not."""
        name, at = self._names[mailbox], int(time.time()) - seconds_ago
        self._receiver.mailboxes.revoke_tokens(name, at)
        self._model.sign_out(name, at, time.time())
        self.end_all_instances()
        dated = (self._write(mailbox, "add_part", "bob", "wes", seconds) for seconds in (0, -300))
        return self._send(self._session_of("wes"), *dated, batched=True)

    @rule(mailbox=MAILBOXES, closes=st.booleans(), restart=st.booleans())
    def take_the_key(self, mailbox: int, closes: bool, restart: bool) -> None:
        name = self._names[mailbox]
        if closes:
            self._receiver.mailboxes.close(name, int(time.time()))
        else:
            self._receiver.mailboxes.set_keys(name, [mailbox_key("wes")])
        self._model.mailboxes[name].keys.change(frozenset(() if closes else {"wes"}), time.time())
        if restart:
            self.end_all_instances()

    @rule(mailbox=MAILBOXES)
    def give_the_key(self, mailbox: int) -> None:
        name = self._names[mailbox]
        self._receiver.mailboxes.set_keys(name, [mailbox_key("bob")])
        self._model.mailboxes[name].keys.change(frozenset({"bob"}), time.time())

    @rule(target=messages, mailbox=MAILBOXES, closes=st.booleans())
    def take_the_key_and_give_it_back(self, mailbox: int, closes: bool) -> MultipleResults[Message]:
        """An instance that has read that there is no key reads again."""
        self.take_the_key(mailbox, closes, restart=True)
        without = self.ask(self._session_of("bob"), mailbox, "add_part", authorized=True)
        self.give_the_key(mailbox)
        return multiple(without, self.ask(self._session_of("bob"), mailbox, "add_part", authorized=True))

    # --- how it is done ----------------------------------------------------------------------------------------------
    def _connect(self, peer: str) -> str:
        opened_at = time.time()
        dcpsid, nonce = self._guardian.connect(peer, f"{next(NUMBERS):021}")
        self._model.sessions[dcpsid] = Session(peer, opened_at, [nonce])
        return dcpsid

    def _session_of(self, peer: str) -> str:
        found = [name for name, each in self._model.sessions.items() if each.peer == peer and not each.closed]
        return found[-1] if found else self._connect(peer)

    def _write(self, mailbox: int, operation: str, signer: str, accessor: str, dated: int) -> Payload:
        time_of_it = int(time.time()) + dated
        return Payload(operation, signer, accessor, str(next(NUMBERS)), time_of_it, self._names[mailbox])

    def _revocation(self, session: str, cheque: Payload, *, authorized: bool) -> Payload:
        peer = self._model.sessions[session].peer
        signer = peer if authorized else ""
        at = int(time.time())
        return Payload("revoke", signer, peer, str(next(NUMBERS)), at, cheque.mailbox, revokes=cheque)

    def _message(self, session: str, *payloads: Payload, nonce: str = "", batched: bool = False) -> Message:
        known = self._model.sessions[session]
        requests = tuple((str(next(NUMBERS)), payload) for payload in payloads)
        return Message(known.peer, session, nonce or known.nonces[-1], requests, batched)

    def _send(self, session: str, *payloads: Payload, batched: bool = False, over_socket: bool = False) -> Message:
        return self._exchange(self._message(session, *payloads, batched=batched), over_socket=over_socket)

    def _exchange(self, message: Message, *, over_socket: bool = False) -> Message:
        self._model.receive(message, self._guardian.send(message, over_socket=over_socket))
        return message

    def _at_once(self, *messages: Message) -> None:
        """Their answers are those of some order."""
        answered = list(zip(messages, self._pool.map(self._guardian.send, messages), strict=True))
        self._go_on_as_one_of([(self._model, order) for order in (answered, answered[::-1])])

    def _go_on_as_one_of(self, cases: Sequence[tuple[Model, Sequence[tuple[Message, Answer]]]]) -> None:
        """Go on as the first model that allows these answers, and has counted what was counted."""
        failures = []
        for model, answered in cases:
            self._model = deepcopy(model)
            try:
                for message, answer in answered:
                    self._model.receive(message, answer)
                self.each_operation_was_performed_as_often_as_the_model_says()
            except AssertionError as failure:
                failures.append(failure)
            else:
                return
        raise AssertionError(failures)

    def _wait_for_the_busy_one(self) -> None:
        if self._busy:
            message, answer = self._busy
            self._busy = None
            self._model.receive(message, answer.result())

    def _counted(self, mailbox: str) -> tuple[int, int]:
        """The parts that were added, and how often its owner signed out."""
        return self._receiver.storage.containers.use(mailbox).containers, self._receiver.mailboxes.sign_outs(mailbox)


@pytest.fixture
def guardian(demo_stack: DemoStack) -> Iterator[Guardian]:
    with Guardian(demo_stack) as guardian:
        yield guardian


def test_messages_of_dcp_are_answered_and_count_as_a_plain_model_says(
    guardian: Guardian, demo_stack: DemoStack
) -> None:
    run_state_machine_as_test(
        lambda: DcpMachine(guardian, demo_stack.receiver),
        settings=at_the_stack(EXAMPLES, STEPS),
    )


def test_a_second_instance_answers_and_a_cheque_counts_once_and_until_it_expires(
    guardian: Guardian, demo_stack: DemoStack
) -> None:
    """The steps that few examples take."""
    machine = DcpMachine(guardian, demo_stack.receiver)
    try:
        machine.present_to_a_second_instance(machine.write(0, "add_part", "bob", "wes", 0), again=True)
        for before in (True, False):
            machine.present_until_it_expires(0, "wes", before=before)
        machine.each_operation_was_performed_as_often_as_the_model_says()
    finally:
        machine.teardown()
