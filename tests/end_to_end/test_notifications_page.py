"""docs/receive/notifications.md, followed: a webhook is verified, and told over real HTTPS that real mail came in."""

import re
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from tests.end_to_end.shells import Shell
from tests.end_to_end.test_mailbox_api_page import BLOCKS as COUNTER
from tests.end_to_end.test_mailbox_api_page import shell
from tests.end_to_end.test_openssl_and_curl import tools
from tests.fakes.servers import LoopbackServer, running_server

from postroom.demo.deployment import until
from postroom.demo.scenes import Story
from postroom.demo.stack import RECEIVER, SUBJECT, DemoStack
from postroom.protocols.nlweb.schema import NLWEB
from postroom.protocols.nlweb.subjects import SubjectRule, Treatment
from postroom.storage.directory.domains import Domain

__all__ = ["shell", "tools"]

# One stack serves all of these: they run in one process.
pytestmark = pytest.mark.xdist_group("demo")

PAGE = (Path(__file__).parents[2] / "docs" / "receive" / "notifications.md").read_text(encoding="utf-8")
SHELL = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
[PYTHON] = re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
KEYS = COUNTER[0]
HOST, HOME = "hook.example", "told.example"
"""HOME stands for the page's mailbox: nobody has asked for it before, and what is set for it is seen at once."""


class Receiver:
    """The page's receiver. `received`: what it took for ours."""

    def __init__(self) -> None:
        self.received: list[Any] = []
        names: dict[str, Any] = {}
        exec(PYTHON, names)
        hook: type[BaseHTTPRequestHandler] = names["Hook"]
        receiver = self

        class Listening(hook):  # type: ignore[valid-type,misc]
            def notified(self, event: Any) -> None:
                receiver.received.append(event)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it so
                pass

        self.hook = Listening

    def first(self, wanted: str) -> Any:
        """The first that came of a type."""
        return next((each for each in self.received if each["type"] == wanted), None)


@pytest.fixture
def receiver(demo_stack: DemoStack) -> Iterator[Receiver]:
    """At the port of all hosts of this stack, at an address of its own."""
    made = Receiver()
    context = demo_stack.stack.authority.server_context(HOST)
    context.set_alpn_protocols(["http/1.1"])
    with running_server(LoopbackServer(("127.0.0.2", demo_stack.stack.edge.port), made.hook), context):
        demo_stack.stack.tree.put(HOST, "@ IN A 127.0.0.2\n")
        yield made


@pytest.fixture
def home(demo_stack: DemoStack) -> str:
    demo_deployment = demo_stack.receiver
    demo_deployment.operators.put_subject(HOME, SubjectRule(SUBJECT, Treatment.MAILBOX, HOME))
    demo_deployment.operators.put_domain(Domain(HOME))
    demo_deployment.deployment.serve_host(NLWEB.host(HOME))
    return HOME


def test_a_verified_target_is_notified_of_new_mail(
    story: Story, demo_stack: DemoStack, shell: Shell, receiver: Receiver, home: str
) -> None:
    keys, name, verify, list_and_remove = (block.replace(f" {RECEIVER}", f" {home}") for block in (KEYS, *SHELL))
    printed = shell(keys + name)
    made, secret = re.findall(
        r"^(\w+): webhook .*\n    its secret, which is not shown again: (whsec_\S+)$", printed, re.MULTILINE
    )[0]
    receiver.hook.secret = secret  # type: ignore[attr-defined]
    challenge = until("the code comes", lambda: receiver.first("postroom.verify"))
    assert challenge["data"] == {"mailbox": home, "target": made, "code": challenge["data"]["code"]}
    begin = f"{name.splitlines()[0]}\nid={made}\ncode={challenge['data']['code']}\n"
    assert shell(begin + verify) == f"{made}: webhook https://{HOST}/mail, it will be notified\n"

    assert story.post(story.envelope(demo_stack.sender, to=home), NLWEB.inbox_url(home))[0] == 200
    waiting = until("it is told", lambda: receiver.first("postroom.waiting"))
    assert waiting["data"] == {"mailbox": home}
    assert f"{made}  webhook  https://{HOST}/mail  active" in shell(begin + list_and_remove)
    assert made not in shell(begin + list_and_remove.splitlines()[0])


def test_every_block_of_the_page_is_run() -> None:
    assert len(SHELL) == PAGE.count("```sh") == 3
