"""docs/receive/mailbox-api.md, whose commands a shell runs at the local post office."""

import json
import re
from pathlib import Path

import pytest
from tests.end_to_end.shells import Shell, open_shell
from tests.end_to_end.test_openssl_and_curl import tools

from postroom.demo.scenes import Story
from postroom.demo.stack import RECEIVER, DemoStack

__all__ = ["tools"]

# One stack serves all of these: they run in one process.
pytestmark = pytest.mark.xdist_group("demo")

PAGE = (Path(__file__).parents[2] / "docs" / "receive" / "mailbox-api.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
GENERATE = "openssl genpkey -algorithm ed25519 -out own.pem"


@pytest.fixture
def shell(demo_stack: DemoStack, own_pem: Path, tmp_path: Path) -> Shell:
    """A shell in which `curl` finds the stack's hosts by name, and `postroom` its deployment."""
    host, port, opened = f"nlweb.{RECEIVER}", demo_stack.stack.edge.port, open_shell(demo_stack, tmp_path)
    found = f"--cacert {demo_stack.stack.authority.pem} --resolve {host}:{port}:127.0.0.1 --fail-with-body"

    def run(script: str) -> str:
        # Here the key that is made is at once that of the owner, whom other pages speak of, too.
        script = script.replace(GENERATE, f"{GENERATE}\ncp {own_pem} own.pem")
        script = script.replace(f"https://{host}", f"https://{host}:{port}").replace("curl ", f"curl {found} ")
        return opened(script)

    return run


def test_a_shell_signs_in_reads_and_acknowledges_as_the_page_says(
    story: Story, demo_stack: DemoStack, shell: Shell, tmp_path: Path
) -> None:
    envelope = story.envelope(demo_stack.sender, {"Text": "for the mailbox API"})
    assert story.post(envelope)[0] == 200
    story.find_filed(demo_stack.receiver, RECEIVER, envelope)
    printed = shell("\n".join(BLOCKS))
    page = json.loads((tmp_path / "page.json").read_text())
    last = page["messages"][-1]
    assert json.loads(last["envelope"])["Header"]["From"] == demo_stack.sender.domain
    assert last["receipt"]["key_fingerprint"] == demo_stack.sender.key.public.fingerprint
    acknowledged = json.loads(printed[printed.rindex("\n") + 1 :])
    assert (len(acknowledged["acknowledged"]), acknowledged["unknown"]) == (1, [])


def test_every_block_of_the_page_is_run() -> None:
    assert len(BLOCKS) == PAGE.count("```sh") == 4
