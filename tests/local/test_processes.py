"""The embedded AWS runs few processes of a function: a burst waits, and a process that dies takes no other along."""

import inspect
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.burst import function_processes, messages_in
from tests.patience import PATIENCE
from typer.testing import CliRunner

from postroom.cli.app import app
from postroom.cli.exits import Exit
from postroom.local import emulator, ministack
from postroom.local import stack as stack_module
from postroom.local.emulator import Emulator, Processes, processors
from postroom.local.ministack import InvocationSlots
from postroom.local.stack import LocalStack

BOUND = 3
"""Of a function that is asked, and of one queue: one process more is for the other queue of its function."""
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def small() -> Iterator[LocalStack]:
    """A stack with the bound BOUND, for the functions of held/."""
    template = Path(__file__).parent / "held" / "template.yaml"
    with LocalStack(template, processes=Processes(queue=BOUND + 1, http=BOUND)) as stack:
        yield stack


class Held:
    """Invocations, each of which stays until it may go on. They write a file each into the folder, and look into it."""

    def __init__(self, stack: LocalStack, folder: Path) -> None:
        self._deployment, self._folder = stack.deploy(f"held{len(stack.deployments)}"), folder
        self.stay = stack.emulator.directory / "stay"
        """While it is there processes that start write their number into `starting`, and wait."""
        self.starting = self.stay.with_name("starting")
        self.sqs = self._deployment.client("sqs")

    def url(self, queue: str) -> str:
        return self._deployment.outputs[queue]

    def send(self, queue: str, *names: str) -> None:
        for name in names:
            self.sqs.send_message(QueueUrl=self.url(queue), MessageBody=str(self._folder / name))

    def ask(self, name: str) -> dict[str, Any]:
        payload = json.dumps(str(self._folder / name))
        function = self._deployment.outputs["Asked"]
        return self._deployment.client("lambda").invoke(FunctionName=function, Payload=payload)

    def begun(self) -> dict[str, dict[str, Any]]:
        """What those that have begun say of themselves."""
        return {path.name: json.loads(path.read_text()) for path in self._folder.iterdir() if not path.suffix}

    def go(self, name: str) -> None:
        (self._folder / f"{name}.go").touch()

    def all_go(self) -> None:
        (self._folder / "all.go").touch()

    def processes(self, function: str) -> set[int]:
        name = self._deployment.outputs[function]
        return {pid for pid, of in function_processes(psutil.Process()).items() if of == name}

    def left(self, queue: str) -> int:
        """Messages in the queue, or taken and not deleted."""
        return messages_in(self._deployment.client, self.url(queue))

    def untaken(self, queue: str) -> int:
        name = "ApproximateNumberOfMessages"
        return int(self.sqs.get_queue_attributes(QueueUrl=self.url(queue), AttributeNames=[name])["Attributes"][name])


@pytest.fixture
def held(small: LocalStack, tmp_path: Path) -> Iterator[Held]:
    held = Held(small, tmp_path)
    yield held
    held.all_go()
    held.stay.unlink(missing_ok=True)


def wait_until(done: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE
    while not done():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.stack
def test_a_burst_from_a_queue_runs_in_a_few_processes_and_the_rest_stays_in_the_queue(held: Held) -> None:
    """What is not taken grows no older: no message comes twice. One process is left to the function's other queue."""
    names = [f"burst{number}" for number in range(12)]
    held.send("Long", *names)
    wait_until(lambda: len(held.begun()) >= BOUND)
    assert held.untaken("Long") == len(names) - BOUND
    busy = held.processes("Fed")
    assert len(busy) == BOUND
    held.all_go()
    wait_until(lambda: not held.left("Long"))
    assert sorted(held.begun()) == sorted(names)
    assert {said["times"] for said in held.begun().values()} == {"1"}
    assert {said["pid"] for said in held.begun().values()} == busy == held.processes("Fed")


@pytest.mark.stack
def test_a_long_queue_does_not_keep_a_function_from_its_other_queue(held: Held) -> None:
    held.send("Long", *(f"long{number}" for number in range(10)))
    wait_until(lambda: len(held.begun()) >= BOUND)
    held.send("Short", "other")
    wait_until(lambda: "other" in held.begun())
    assert len(held.begun()) == BOUND + 1


@pytest.mark.stack
def test_requests_to_a_busy_function_wait_and_are_answered(held: Held) -> None:
    """Its reserved concurrency is 4, which this bound does not reach: nothing is refused."""
    names = [f"asked{number}" for number in range(3 * BOUND)]
    with ThreadPoolExecutor(len(names)) as pool:
        asked = [pool.submit(held.ask, name) for name in names]
        wait_until(lambda: len(held.begun()) >= BOUND)
        busy = held.processes("Asked")
        held.all_go()
        answers = [each.result() for each in asked]
    assert len(busy) == BOUND
    assert {(answer["StatusCode"], answer.get("FunctionError")) for answer in answers} == {(200, None)}
    assert sorted(held.begun()) == sorted(names)
    assert {said["pid"] for said in held.begun().values()} == busy == held.processes("Asked")


@pytest.mark.stack
def test_a_function_that_takes_longer_than_its_timeout_is_answered(held: Held) -> None:
    """This machine may be busy: its Timeout, which is a second, says nothing about what hangs."""
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(held.ask, "late")
        wait_until(held.begun)
        time.sleep(1.5)
        held.all_go()
        assert asked.result().get("FunctionError") is None


def test_all_that_a_function_logged_is_returned_though_it_is_read_late(monkeypatch) -> None:
    """By itself MiniStack waits for 50 ms. The lines would be those of the next invocation."""
    from ministack.core.lambda_runtime import Worker

    for name in ("invoke", "_drain_stderr_bounded"):
        monkeypatch.setattr(Worker, name, getattr(Worker, name))
    ministack.give_time()
    worker = Worker("f", {}, b"")
    logs = "import sys; sys.stderr.write('one\\ntwo\\n'); sys.stderr.flush(); sys.stdin.read()"
    command = [sys.executable, "-c", logs]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as worker._proc:
        wait_until(lambda: ministack._has_unread_lines(worker))
        reader = threading.Timer(0.3, worker._read_stderr)
        reader.start()
        assert worker._drain_stderr_bounded() == "one\ntwo"
        worker._proc.stdin.close()
        reader.join()


@pytest.mark.stack
def test_a_process_that_is_killed_in_an_invocation_fails_that_one_alone(held: Held) -> None:
    """Its message comes again when its visibility timeout is over, which the test makes short."""
    held.send("Long", "victim", "sibling1", "sibling2")
    wait_until(lambda: len(held.begun()) >= BOUND)
    receipt = held.begun()["victim"]["receipt"]
    os.kill(held.begun()["victim"]["pid"], signal.SIGKILL)
    siblings_must_end_well(held)
    held.sqs.change_message_visibility(QueueUrl=held.url("Long"), ReceiptHandle=receipt, VisibilityTimeout=1)
    wait_until(lambda: not held.left("Long"))
    assert held.begun()["victim"]["times"] == "2"


@pytest.mark.stack
def test_a_process_that_is_killed_while_it_starts_fails_its_invocation_alone(held: Held, small: LocalStack) -> None:
    """By itself MiniStack ends all processes of the function then."""
    held.send("Long", "sibling1", "sibling2")
    wait_until(lambda: len(held.begun()) == 2)
    held.stay.touch()
    held.send("Long", "victim")
    wait_until(held.starting.exists)
    os.kill(json.loads(held.starting.read_text()), signal.SIGKILL)
    held.stay.unlink()
    siblings_must_end_well(held)
    assert "victim" not in held.begun()
    assert "Warm worker execution error" in small.emulator.log.read_text()
    held.sqs.purge_queue(QueueUrl=held.url("Long"))


def siblings_must_end_well(held: Held) -> None:
    """Another message is taken up beside them, and all are deleted once they are done; the victim's is not."""
    held.send("Long", "next")
    wait_until(lambda: "next" in held.begun())
    siblings = {held.begun()[name]["pid"] for name in ("sibling1", "sibling2")}
    assert siblings < held.processes("Fed")
    held.all_go()
    wait_until(lambda: held.left("Long") == 1)
    assert held.untaken("Long") == 0
    assert [held.begun()[name]["times"] for name in ("sibling1", "sibling2", "next")] == ["1", "1", "1"]


@pytest.mark.stack
def test_state_survives_a_stop_while_a_function_runs_and_others_wait(tmp_path: Path, monkeypatch) -> None:
    """None of them goes on by itself, and the stop is given all the time: it must need none of them to end."""
    monkeypatch.setattr(emulator, "GRACE_SECONDS", PATIENCE)
    template, state, folder = Path(__file__).parent / "held" / "template.yaml", tmp_path / "state", tmp_path / "said"
    folder.mkdir()
    with ThreadPoolExecutor(4) as pool:
        with LocalStack(template, state_dir=state, processes=Processes(queue=1, http=1)) as stack:
            held = Held(stack, folder)
            url = held.sqs.create_queue(QueueName="kept")["QueueUrl"]
            held.sqs.send_message(QueueUrl=url, MessageBody="waiting")
            asked = [pool.submit(held.ask, f"asked{number}") for number in range(4)]
            wait_until(held.begun)
            account = stack.deployments["held0"].account
        assert len(held.begun()) == 1
        assert not any(each.exception() is None and "FunctionError" not in each.result() for each in asked)
    with Emulator(state_dir=state / "aws") as again:
        sqs = again.clients(account)("sqs")
        [message] = sqs.receive_message(QueueUrl=sqs.get_queue_url(QueueName="kept")["QueueUrl"])["Messages"]
    assert message["Body"] == "waiting"


class Taking:
    """Threads that wait for a turn, and what they were answered, in the order in which they were."""

    def __init__(self, turns: InvocationSlots) -> None:
        self._turns = turns
        self.answers: list[tuple[str, bool]] = []

    def start(self, name: str, *, keep: bool = False) -> None:
        """Returns when it stands in line, or is answered."""
        before = self._known()
        threading.Thread(target=self.take, args=(name,), kwargs={"keep": keep}, daemon=True).start()
        wait_until(lambda: self._known() > before)

    def take(self, name: str, *, keep: bool = False) -> None:
        answer = self._turns.take("f")
        self.answers.append((name, answer))
        if answer and not keep:
            self._turns.give_back("f")

    def _known(self) -> int:
        return len(self._turns._lines["f"]) + len(self.answers)


def test_waiting_invocations_run_in_the_order_of_their_arrival() -> None:
    turns = InvocationSlots(queue=1, http=1)
    assert turns.take("f")
    taking = Taking(turns)
    for name in "abc":
        taking.start(name)
    with turns._changed:  # so nobody has looked yet when the last one comes
        turns.give_back("f")
        taking.take("d")
    assert taking.answers == [(name, True) for name in "abcd"]
    assert not turns.any_taken


def test_a_raised_limit_starts_all_invocations_that_it_allows(monkeypatch) -> None:
    """Its queue is taken from a function: it may have more processes then."""
    mapping = {"FunctionName": "f"}
    monkeypatch.setattr(ministack, "_mappings_to", lambda key: iter([mapping] if mapping else []))
    turns = InvocationSlots(queue=1, http=3)
    assert turns.take("f")
    taking = Taking(turns)
    for name in "abcd":
        taking.start(name, keep=True)
    assert not taking.answers
    mapping.clear()
    turns.give_back("f")
    wait_until(lambda: len(taking.answers) == 3)
    assert taking.answers == [(name, True) for name in "abc"]


def test_no_batch_is_received_for_a_process_that_somebody_waits_for() -> None:
    turns = InvocationSlots(queue=2, http=2)
    assert turns.take("f")
    assert turns.take("f")
    Taking(turns).start("a", keep=True)
    with turns._changed:  # so the one who waits has not looked yet
        turns.give_back("f")
        assert turns.free("f") == 0


def test_nobody_waits_for_a_process_that_will_not_come() -> None:
    turns = InvocationSlots(queue=1, http=1)
    assert turns.take("f")
    taking = Taking(turns)
    taking.start("a")
    taking.start("b")
    turns.close()
    wait_until(lambda: len(taking.answers) == 2)
    assert sorted(taking.answers) == [("a", False), ("b", False)]
    assert turns.any_taken
    turns.give_back("f")
    assert not turns.take("f")
    assert not turns.any_taken


def test_a_process_that_ministack_does_not_use_is_released(monkeypatch) -> None:
    from ministack.services import lambda_svc

    def break_down(function: object, config: object) -> object:
        raise ValueError(function)

    for name in ("_release_execution_slot", "_sqs_esm_concurrency", "_dispatch_esm_batch", "_iter_all_esms"):
        monkeypatch.setattr(lambda_svc, name, getattr(lambda_svc, name))
    monkeypatch.setattr(lambda_svc, "_acquire_execution_slot", break_down)
    turns = InvocationSlots(queue=1, http=1)
    ministack.bound_processes(turns)
    with pytest.raises(ValueError, match="broken"):
        lambda_svc._acquire_execution_slot("broken", {"FunctionName": "f"})
    assert not turns.any_taken
    turns.close()
    assert lambda_svc._acquire_execution_slot("broken", {"FunctionName": "f"}) == (None, "account")


def test_ministack_has_the_names_that_are_replaced() -> None:
    """Where it calls what is replaced, and by which arguments: a new version of it has to be read again."""
    import hypercorn.asyncio
    from ministack import app as ministack_app
    from ministack.core import iam_actions, iam_evaluator, lambda_runtime
    from ministack.core.lambda_runtime import Worker
    from ministack.services import dynamodb, lambda_svc

    def parameters(function: Callable[..., object]) -> list[str]:
        return list(inspect.signature(function).parameters)

    def names(function: Callable[..., object]) -> set[str]:
        return set(function.__code__.co_names)

    assert parameters(lambda_svc._acquire_execution_slot) == ["func", "config"]
    assert parameters(lambda_svc._release_execution_slot) == ["key"]
    assert parameters(lambda_svc._sqs_esm_concurrency) == ["esm", "func_rec", "config", "queue"]
    assert parameters(lambda_svc._dispatch_esm_batch) == ["esm_id", "fn", "args"]
    assert parameters(lambda_svc._iter_all_esms) == []
    assert parameters(lambda_svc._inflight_key) == ["config"]
    assert isinstance(lambda_svc._esm_inflight, dict)
    assert {"_acquire_execution_slot", "_release_execution_slot"} <= names(lambda_svc._execute_function)
    assert "_inflight_key" in names(lambda_svc._acquire_execution_slot)
    assert {"_iter_all_esms", "_esm_inflight", "_sqs_esm_concurrency", "_dispatch_esm_batch"} <= names(
        lambda_svc._poll_sqs
    )
    assert "_esm_inflight" in names(lambda_svc._dispatch_esm_batch)
    assert {"acquire_worker", "invoke", "invalidate_worker", "release_worker"} <= names(
        lambda_svc._execute_function_warm
    )
    assert callable(Worker.kill)
    assert {"config", "_drain_stderr_bounded"} <= names(Worker.invoke)
    assert {"_proc", "stderr", "_stderr_queue"} <= names(Worker._read_stderr)
    assert {"zipfile", "ZipFile", "extractall"} <= names(Worker._spawn)
    assert parameters(lambda_runtime.kill_workers) == ["workers"]
    assert isinstance(lambda_runtime._workers, dict)
    assert parameters(iam_actions.extract_iam_action)[0] == "service"
    assert "extract_iam_action" in names(ministack_app._dispatch_service_request)
    assert "shutdown_trigger" in parameters(hypercorn.asyncio.serve)
    assert {"hypercorn.asyncio", "serve"} <= names(ministack_app.main)
    assert {"_tokenize", "_condition_syntax_error"} <= names(dynamodb._evaluate_condition)
    assert parameters(dynamodb._evaluate_condition) == ["expr", "item", "attr_values", "attr_names", "slot"]
    assert "_evaluate_condition" in names(dynamodb._query)
    assert parameters(dynamodb._key_condition_clauses) == ["tokens"]
    assert parameters(dynamodb._check_reserved_keyword_usage) == ["tokens"]
    assert parameters(dynamodb._check_redundant_parens)[:2] == ["tokens", "slot"]
    assert parameters(dynamodb._tokenize) == ["expr"]
    assert parameters(dynamodb._condition_syntax_error) == ["expr", "slot"]
    assert "parse_policy_document" in names(iam_evaluator._gather_role_policies)
    assert parameters(iam_evaluator.parse_policy_document) == ["doc"]


@pytest.mark.parametrize(
    ("options", "processes"),
    [
        ((), Processes(queue=2 * processors(), http=16)),
        (("--queue-processes", "1"), Processes(queue=1)),
        (("--http-processes", "2"), Processes(http=2)),
    ],
)
def test_up_says_how_many_processes(options, processes, monkeypatch, tmp_path: Path) -> None:
    found = []

    def start(*_: object, **settings: object) -> None:
        found.append(settings["processes"])
        raise KeyboardInterrupt

    monkeypatch.setattr(stack_module, "LocalStack", start)
    assert CliRunner().invoke(app, ["up", "--state", str(tmp_path), *options]).exit_code == Exit.INTERRUPTED
    assert found == [processes]


def test_make_up_passes_the_numbers_of_processes_on() -> None:
    dry = ["make", "-n", "up", "QUEUE_PROCESSES=5", "HTTP_PROCESSES=7"]
    said = subprocess.run(dry, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert "--queue-processes 5 --http-processes 7" in said


def test_the_code_of_several_processes_is_extracted_by_one_of_them_at_a_time(tmp_path: Path, monkeypatch) -> None:
    """After a restart, several processes of one function start at once."""
    archive = tmp_path / "code.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("app.py", "")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    extract, begun = zipfile.ZipFile.extractall, []

    def extract_alone(zipped: zipfile.ZipFile, *given: object) -> None:
        with ministack._SharedZip(archive) as another:
            assert not another._extracting.acquire(blocking=False)
        begun.append(zipped)
        extract(zipped, *given)

    monkeypatch.setattr(zipfile.ZipFile, "extractall", extract_alone)
    for name in ("first", "second"):
        with ministack._SharedZip(archive) as zipped:
            zipped.extractall(tmp_path / name)
        assert (tmp_path / name / "app.py").exists()
    assert len(begun) == 1
