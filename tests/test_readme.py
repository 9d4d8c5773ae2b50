"""The README, docs/start and docs/receive/client.md: every command and example is run here, as printed."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from tests.aws import resources, template
from tests.patience import PATIENCE
from tests.tiers import Tier

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(text: str, language: str = "sh") -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def page(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


DEMO, TEST, UP, FIRST_MESSAGE, CHAT = blocks(README)
VERDICTS, LOGS, DM3_MESSAGE, CHAIN, OWNER, AUDIT, DOCTOR, COMPLETION = blocks(page("start/try-it.md"))
FIRST_CHAT, GROUP, PICTURE = blocks(page("start/chat.md"))
READ, SETTINGS = blocks(page("receive/client.md"))
SIX_LINES, WAITING, *OTHERS, NOTEBOOK = blocks(page("receive/client.md"), "python")
[TIERS] = blocks(page("CONTRIBUTING.md"))
PYTHONS_OF_GLUE = {"5.0": "3.11"}
"""As https://docs.aws.amazon.com/glue/latest/dg/release-notes.html says."""

pytestmark = pytest.mark.xdist_group("readme")


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The checkout, in a folder of its own: what the commands leave behind is not left in the checkout."""
    folder = tmp_path_factory.mktemp("clone")
    for path in ROOT.iterdir():
        if path.name not in (".postroom", ".venv"):
            (folder / path.name).symlink_to(path)
    # The environment that runs this test is the one that `make` made: the commands use it, too.
    (folder / ".venv").symlink_to(sys.prefix)
    return folder


@pytest.fixture(scope="module")
def shell(clone: Path) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"], "HOME": str(clone), "LANG": "C.UTF-8", "MAKEFLAGS": f"VENV={sys.prefix}",
        # What some releases of Python 3.12 have as `activate` reads it, whether it is set or not.
        "OSTYPE": sys.platform,
    }  # fmt: skip


def run(commands: str, clone: Path, shell: dict[str, str]) -> str:
    done = subprocess.run(
        ["sh", "-eu", "-c", commands],
        cwd=clone,
        env=shell,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def stack(clone: Path, shell: dict[str, str]) -> Iterator[None]:
    with subprocess.Popen(
        ["sh", "-c", f"exec {UP}"],
        cwd=clone, env=shell, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        said = []
        for line in process.stdout:
            said.append(line)
            if line.startswith("up:"):
                break
        else:
            pytest.fail("".join(said))
        yield
        os.killpg(process.pid, signal.SIGINT)
        process.stdout.read()


def test_the_readme_has_at_most_120_lines() -> None:
    assert len(README.splitlines()) <= 120


def test_the_commands_of_the_pages_are_run_here() -> None:
    assert ("make demo\n", f"{Tier.QUICK.command}\n", "make up\n") == (DEMO, TEST, UP)
    pages = (VERDICTS, LOGS, DM3_MESSAGE, CHAIN, OWNER, AUDIT, DOCTOR, COMPLETION, FIRST_CHAT, GROUP, PICTURE)
    for commands in (FIRST_MESSAGE, CHAT, *pages):
        assert commands.startswith(". .venv/bin/activate\n")


def test_the_completion_of_the_page_completes_commands(clone: Path, shell: dict[str, str]) -> None:
    # It looks which shell runs it.
    run(f"bash -eu <<'end'\n{COMPLETION}\nend", clone, shell)
    typed = "COMP_WORDS='postroom mailb' COMP_CWORD=1 _POSTROOM_COMPLETE=complete_bash .venv/bin/postroom"
    assert run(typed, clone, shell) == "mailbox\n"
    assert ".bash_completions/postroom.sh" in (clone / ".bashrc").read_text()


@pytest.fixture(scope="module")
def demo(clone: Path, shell: dict[str, str]) -> str:
    """What `make demo` prints: the story, played once for all tests of it."""
    return run(DEMO, clone, shell)


@pytest.mark.stack(tier="quick")
@pytest.mark.spark(tier="quick")
def test_make_demo_shows_all_scenes(demo: str) -> None:
    assert "All 46 steps had the expected result" in demo
    assert "\x1b" not in demo


SCENES = {
    "1": [["a signed message", "200 Queued", "filed"]],
    "2": [["a forged signature", "200 Queued", "SignatureInvalid, Feedback filed at the buffer"]],
    "3": [
        ["the same message again", "200 Queued", "acknowledged, not executed"],
        ["its Correlation, other content", "200 Queued", "CorrelationReused"],
    ],
    "4": [
        ["a Timestamp of two days ago", "422 TimestampTooOld", "refused, nothing stored"],
        ["To another domain", "421 NotOurs", "refused, nothing stored"],
        ["another major version", "422 UnsupportedVersion", "refused, nothing stored"],
        ["a domain without DNSSEC", "200 Queued", "SenderNotSigned"],
        ["a zone with broken signatures", "200 Queued", "DnssecBogus"],
        ["an unknown subject", "200 Queued", "UnexpectedSubject"],
    ],
    "5": [["signed with a rotated key", "200 Queued", "filed, after exactly one refetch"]],
    "6": [
        ["Identity@Graph, synchronous", '200 {"Domain": "receiver.example"}', "answered in the response"],
        ["GET /manifest", "200", "Feedback: buffer.example"],
        ["a wallet's message", "200 Queued", "filed, verified with its pre-shared key"],
    ],
    "7": [["pollyweb's own message", "200 Queued", "filed (pollyweb.org/MSG:1.0)"]],
    "8": [["while the resolver is off", "200 Queued", "waits; filed when it answers again"]],
    "9": [
        ["an encrypted message (dm3)", "accepted", "filed; its receiver opens it, every signature is valid"],
        ["a message in alice.eth's name", "-32003 SenderSignatureInvalid", "refused, nothing stored"],
        ["a newcomer without a transaction", "-32010 SenderNotWanted", "refused, nothing stored"],
    ],
    "10": [["alice.eth's message, on two devices", "acknowledged on one", "gone on both (MessageUnknown)"]],
    "11": [["an encrypted archive", "stored, then acknowledged", "found by its words; exported to a file"]],
    "12": [["an order", "200 Queued", "the owner's webhook was notified; read and acknowledged"]],
    "13": [
        ["a keepalive of Jack with the stamp of a cheque for Wes", "answered", "it is not used up"],
        ["the cheque, presented by Jack", "NotTheOwner", "nothing done, and it is not used up for Wes"],
        ["the same, presented by Wes", "one message", "performed once (EDUP after a restart)"],
        ["a revoked cheque", "EDUP", "nothing done"],
    ],
    "14": [
        ["the profile of ds.eth", "under https:", "its document has the hash that ENS says"],
        ["a message of carol.team.eth", "accepted", "filed; the profile is behind a gateway"],
        ["a message of dan.example", "accepted", "filed; the profile is in DNS, at _dm3"],
        ["a message of erin.eth", "accepted", "filed; the profile is in IPFS, in 3 blocks"],
    ],
    "15": [
        ["one endpoint of three lies", "accepted", "outvoted; verified with the right key"],
        ["what it would have let in", "-32003 SenderSignatureInvalid", "refused, nothing stored"],
        ["two of three lie", "-32002 ProfileLookupFailed", "nothing is believed"],
        ["when they no longer lie", "accepted", "filed"],
    ],
    "16": [
        ["a gateway's answer changed on the way", "-32002 ProfileLookupFailed", "refused, nothing stored"],
        ["a gateway's answer of yesterday", "-32002 ProfileLookupFailed", "refused, nothing stored"],
        ["a gateway's answer of another name", "-32002 ProfileLookupFailed", "refused, nothing stored"],
    ],
    "17": [
        ["a chat in a group", "accepted", "the same lines on all devices, early or late"],
        ["a picture with the place where it was taken", "accepted", "it arrives without the place"],
        ["Alice's reaction, made a deletion by Mallory", "accepted", "PayloadInvalid; the chat is as it was"],
        ["Alice's message to Mallory, passed on", "accepted", "AuthorNotCarrier; the chat is as it was"],
        ["a message of Mallory, dated before her removal", "accepted", "ChatUnknown; the chat is as it was"],
    ],
    "18": [["the nightly job", "N segments, 0 left", "requests to read: N → 1"]],
    "19": [
        ["alice.eth, with keys that she changed on chain", "accepted", "filed, after another look-up"],
        ["a message signed with her old key", "-32003 SenderSignatureInvalid", "refused, nothing stored"],
    ],
    "20": [["the newcomer, after a transaction", "accepted", "filed"]],
}
"""What the table at the end says of each scene; N stands for a number of two or more."""


@pytest.mark.stack(tier="quick")
@pytest.mark.spark(tier="quick")
@pytest.mark.parametrize("scene", SCENES)
def test_each_scene_of_the_demo_has_its_outcome(demo: str, scene: str) -> None:
    rows = [re.split(r" {2,}", line) for line in demo.splitlines() if re.match(rf"{scene} +\S", line)]
    said = [
        [re.sub(r"\b([2-9]|\d{2,}) (?=segments)|\b([2-9]|\d{2,}) (?=→)", "N ", cell) for cell in row[1:]]
        for row in rows
    ]
    assert said == SCENES[scene]
    assert re.search(rf"^{scene}\. \S", demo, re.MULTILINE)


@pytest.mark.stack(tier="quick")
@pytest.mark.spark(tier="quick")
def test_the_demo_shows_the_evidence_for_an_unproven_key(demo: str) -> None:
    lines = [line.strip() for line in demo.splitlines()]
    [unsigned] = [number for number, line in enumerate(lines) if line.endswith("then discarded: SenderNotSigned")]
    [broken] = [number for number, line in enumerate(lines) if line.endswith("then discarded: DnssecBogus")]
    assert lines[unsigned + 1] == "insecure: unsigned.example. has no DS record in the zone above it"
    assert lines[broken + 1].startswith("bogus: pk1._domainkey.bogus.example. TXT: the signature by key ")


def test_the_readme_contributing_and_ci_name_the_same_commands_of_tests() -> None:
    # Run by this very run: a test cannot run all tests.
    commands = [tier.command for tier in Tier]
    assert TIERS.splitlines() == commands
    section = re.findall(r"^## Test\n(.*?)^## ", README, re.MULTILINE | re.DOTALL)[0]
    assert re.findall(r"^```sh\n(make .*)$|^- `(make .*?)`", section, re.MULTILINE) == [
        (commands[0], ""), ("", commands[1]), ("", commands[2]),
    ]  # fmt: skip
    targets = (ROOT / "Makefile").read_text().splitlines()
    assert [command for command in commands if f".PHONY: {command.removeprefix('make ')}" not in targets] == []


def test_ci_tests_on_the_pythons_of_functions_and_of_jobs() -> None:
    lines = (ROOT / ".ci" / "run").read_text().splitlines()
    runs = [re.fullmatch(rf"{Tier.ALL.command} PYTHON=python(\S+)(?: VENV=\S+)? ARGS=(.+)", line) for line in lines]
    [functions] = [run[1] for run in runs if run and run[2] == "'-m \"not spark\"'"]
    [jobs] = [run[1] for run in runs if run and run[2] == '"-m spark"']
    assert f"python{functions}" == template()["Globals"]["Function"]["Runtime"]
    assert {PYTHONS_OF_GLUE[job["GlueVersion"]] for job in resources("AWS::Glue::Job").values()} == {jobs}


@pytest.mark.stack
@pytest.mark.tools
@pytest.mark.usefixtures("stack")
def test_the_chain_of_the_stack_tells_its_newest_block(clone: Path, shell: dict[str, str]) -> None:
    block = json.loads(run(CHAIN, clone, shell))["result"]
    assert int(block["number"], 16) > 0


@pytest.mark.stack
@pytest.mark.usefixtures("stack")
def test_the_printed_commands_work(clone: Path, shell: dict[str, str]) -> None:
    said = run(FIRST_MESSAGE, clone, shell)
    assert "Queued" in said
    verdict, *shown = said.rpartition("Queued\n")[2].splitlines()
    assert verdict == "accepted"
    assert "sender.example" in "\n".join(shown)
    trace = said.rpartition("\nmessage ")[2]
    assert ": filed\n" in trace.splitlines(keepends=True)[0]
    assert "pk1._domainkey.sender.example. TXT" in trace
    assert trace.count("    ok      ") == 7


@pytest.mark.stack
@pytest.mark.usefixtures("stack")
def test_a_forged_an_unsigned_an_unknown_and_a_good_message_are_told_apart(clone: Path, shell: dict[str, str]) -> None:
    said = [line for line in run(VERDICTS, clone, shell).splitlines() if not line.startswith(("taken", "  "))]
    assert [re.split(": | ", line)[:2] for line in said if not line.startswith("exit")] == [
        ["discarded", "SignatureInvalid"], ["discarded", "SenderNotSigned"], ["discarded", "UnexpectedSubject"],
        ["accepted"],
    ]  # fmt: skip
    assert said.count("exit code 1") == 3
    logged = run(LOGS, clone, shell)
    for reason in ("SignatureInvalid", "SenderNotSigned", "UnexpectedSubject"):
        assert re.search(rf"worker +discarded .* from .* to receiver\.example  {reason}: .", logged)
    assert re.search(r"worker +accepted .* from sender\.example to receiver\.example$", logged, re.MULTILINE)
    assert re.search(r"^message .* for receiver\.example: discarded\n", logged, re.MULTILINE)
    assert "    FAILED  signature: SignatureInvalid: not by the sender's rsa key SHA256:" in logged
    refused = json.loads((clone / "good.json").read_text())
    refused["Header"]["Correlation"] = str(uuid4())
    (clone / "refused.json").write_text(json.dumps(refused))
    commands = "postroom send refused.json --local .postroom || postroom trace refused.json --local .postroom\n"
    traced = run(LOGS.partition("postroom")[0] + commands, clone, shell)
    assert f"message {refused['Header']['Correlation']} for receiver.example: refused\n" in traced
    assert "    FAILED  shape, receiver, Timestamp, Hash and quota: HashMismatch\n" in traced


@pytest.mark.stack
@pytest.mark.usefixtures("stack")
def test_a_dm3_message_is_sent_with_the_printed_commands_and_the_audit_finds_it(
    clone: Path, shell: dict[str, str]
) -> None:
    said = run(DM3_MESSAGE, clone, shell)
    assert "taken: ds.eth" in said
    assert "Good morning, Bob" in said
    assert said.rstrip().endswith("accepted")
    picked_up = run(OWNER, clone, shell)
    assert "text         Good morning, Bob\nacknowledged 1\nthere are no messages in bob.eth" in picked_up
    audited = run(AUDIT, clone, shell)
    assert ["acknowledged", "1", "1"] in [line.split()[:3] for line in audited.splitlines()]
    assert audited.rstrip().endswith("nothing is wrong")


def test_the_printed_commands_clean_a_picture(clone: Path, shell: dict[str, str]) -> None:
    assert run(PICTURE, clone, shell).splitlines() == [
        "clean.jpg: 144 of 282 bytes, 32 x 32 pixels, 1 frame",
        "  dropped: EXIF, 138 bytes",
    ]


@pytest.mark.stack
@pytest.mark.usefixtures("stack")
def test_the_printed_doctor_command_finds_a_domain_good(clone: Path, shell: dict[str, str]) -> None:
    *checks, end = run(DOCTOR, clone, shell).splitlines()
    assert [line[0] for line in checks] == ["✓"] * len(checks)
    assert end == "sender.example: good"


@pytest.mark.stack
@pytest.mark.usefixtures("stack")
def test_the_examples_of_the_client_page_read_the_mailbox_of_the_stack(clone: Path, shell: dict[str, str]) -> None:
    begun = SIX_LINES.partition("with ")[0]
    run(FIRST_MESSAGE, clone, shell)
    run(DM3_MESSAGE, clone, shell)
    said = run_python("".join([SIX_LINES, *OTHERS]), clone, shell)
    assert said.startswith("sender.example {")
    assert "alice.eth NEW Good morning, Bob 0\n" in said
    assert "receiver.example Hello@Host queued" in said
    assert "<Mailbox bob.eth at nlweb.receiver.example>" in said

    run(FIRST_MESSAGE, clone, shell)
    with subprocess.Popen(
        [sys.executable, "-u", "-c", begun + WAITING], cwd=clone, env=shell, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("new: ")
        process.send_signal(signal.SIGINT)

    run(FIRST_MESSAGE, clone, shell)
    run_python(begun + NOTEBOOK, clone, shell)
    shown = run(f". .venv/bin/activate\n{READ}", clone, shell)
    assert '  body         {"Text": "Good morning"}\n' in shown
    assert "Good morning" in (clone / "mail.jsonl").read_text().splitlines()[-1]


@pytest.mark.stack
@pytest.mark.usefixtures("stack")
def test_an_owner_shows_and_changes_settings_as_the_client_page_says(clone: Path, shell: dict[str, str]) -> None:
    shown = run(f". .venv/bin/activate\n{SETTINGS}", clone, shell).splitlines()
    assert 'extension.spamFilterRules.block=["mallory.eth"]' in shown[: len(shown) // 2]
    assert shown[-2:] == ['extension.spamFilterRules.block=["mallory.eth", "eve.eth"]', "unverified=false"]


@pytest.mark.stack
@pytest.mark.usefixtures("stack")
def test_the_printed_commands_chat(clone: Path, shell: dict[str, str]) -> None:
    said = run(CHAT, clone, shell).splitlines()
    assert "taken: bob.eth" in said
    assert said[-1].endswith(" alice.eth: Good morning")

    *_, question, answer = run(FIRST_CHAT, clone, shell).splitlines()
    assert question.endswith(" alice.eth: Good morning, Bob")
    assert answer.endswith(" bob.eth: Good morning, Alice")

    said = run(GROUP, clone, shell).splitlines()
    assert said.count("taken: bob.eth") == said.count("taken: carol.team.eth") == 2
    assert any(line.startswith("group 'Lunch': ") and line.endswith(" Friday at noon?") for line in said)


def run_python(code: str, clone: Path, shell: dict[str, str]) -> str:
    (clone / "example.py").write_text(code)
    return run(". .venv/bin/activate\npython example.py", clone, shell)
