"""docs/operate/jobs.md, followed by a shell: the nightly jobs run on what other tests have left."""

import json
import re
from pathlib import Path

import pytest
from tests.end_to_end.shells import open_shell
from typer.testing import CliRunner

from postroom.cli import jobs
from postroom.cli.app import app
from postroom.demo.scenes import Story
from postroom.demo.stack import RECEIVER, DemoStack
from postroom.jobs.reading import Damage
from postroom.storage.mail.line_state import LineState

# One stack serves all of these: they run in one process.
pytestmark = pytest.mark.xdist_group("demo")

PAGE = (Path(__file__).parents[2] / "docs" / "operate" / "jobs.md").read_text(encoding="utf-8")
HERE, ON_AWS, HOLD = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


@pytest.mark.proof
@pytest.mark.spark
@pytest.mark.stack
def test_a_shell_runs_both_jobs_as_the_page_says(story: Story, demo_stack: DemoStack, tmp_path: Path) -> None:
    shell = open_shell(demo_stack, tmp_path)
    story.filed()
    demo_stack.receiver.settle()
    before = [(each.row.key, each.line) for each in demo_stack.receiver.filed(RECEIVER)]
    assert before
    said = shell(HERE)
    assert said.count("compact, dry run: began") == 1
    assert said.count("compact: began") == 2
    assert said.count("expire, dry run: began") == 1
    assert said.count("expire: began") == 1
    after = demo_stack.receiver.filed(RECEIVER)
    assert [(each.row.key, each.line) for each in after] == before
    assert {each.row.place.object[:4] for each in after if each.row.place} == {"chk/"}
    last = json.loads(shell("postroom jobs last compact --json"))
    assert last["lines"]["repointed"] >= len(before)


@pytest.mark.stack
def test_the_library_is_uploaded_for_the_jobs(demo_stack: DemoStack, tmp_path: Path) -> None:
    said = open_shell(demo_stack, tmp_path)(ON_AWS.replace(" --stack-name NAME", ""))
    name = re.search(r"(jobs/lib/\S+\.zip)", said)
    assert name
    assert demo_stack.receiver.objects.get(name[1])[:2] == b"PK"


@pytest.mark.stack
def test_a_mailbox_is_held_and_released(demo_stack: DemoStack, tmp_path: Path) -> None:
    shell = open_shell(demo_stack, tmp_path)
    hold, release = HOLD.strip().splitlines()
    shell(hold)
    assert demo_stack.receiver.mailboxes.find(RECEIVER).held
    shell(release)
    assert not demo_stack.receiver.mailboxes.find(RECEIVER).held


def test_every_command_of_the_page_exists_with_its_options() -> None:
    lines = [line for block in (HERE, ON_AWS, HOLD) for line in block.splitlines()]
    taken = {line: CliRunner().invoke(app, [*line.split()[1:], "--help"]).exit_code for line in lines}
    assert set(taken.values()) == {0}, taken
    assert CliRunner().invoke(app, ["jobs", "compact", "--never", "--help"]).exit_code == 2


def test_the_page_names_every_reason_and_every_group_of_a_report() -> None:
    for damage in Damage:
        assert f"| `{damage}` |" in PAGE
    for stand in LineState:
        assert stand is LineState.HERE or f"`{stand}`" in PAGE
    for group in jobs.SHOWN:
        assert f"`{group}`" in PAGE
