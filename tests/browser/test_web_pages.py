"""A web page that a developer opens cannot use the embedded AWS of a local stack, or read from it."""

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from tests.browser.chromium import DEBIAN_PACKAGE, ROOT, chromium
from tests.fakes.servers import LoopbackServer, running_server
from tests.patience import PATIENCE
from tests.peers.answering import AnsweringProcess

from postroom.local.clients import REGION, Clients
from postroom.local.emulator import Emulator
from postroom.local.ports import HOST

pytestmark = [pytest.mark.tools, pytest.mark.browser, pytest.mark.stack]
ACCOUNT = "111111111111"
ATTACKS = (Path(__file__).parent / "attacks.js").read_text(encoding="utf-8")
CREDENTIAL = f"X-Amz-Credential={ACCOUNT}%2F20260101%2F{REGION}%2Flambda%2Faws4_request"


class Page(BaseHTTPRequestHandler):
    """An empty page."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>a page</title><body></body>")

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AnsweringProcess]:
    with chromium(tmp_path_factory.mktemp("browser")) as process:
        yield process


@pytest.fixture(scope="module")
def page() -> Iterator[str]:
    with running_server(LoopbackServer((HOST, 0), Page)) as server:
        yield f"http://localhost:{server.server_port}/"


@pytest.fixture(scope="module")
def aws() -> Iterator[Clients]:
    with Emulator() as emulator:
        clients = emulator.clients(ACCOUNT)
        clients("sqs").create_queue(QueueName="kept")
        yield clients


def test_ci_installs_the_browser() -> None:
    assert f'browser="{DEBIAN_PACKAGE}"' in (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()


def test_no_attempt_of_a_page_changes_or_reads_anything(browser: AnsweringProcess, page: str, aws: Clients) -> None:
    asked = {"aws": aws.endpoint, "credential": CREDENTIAL}
    said: dict[str, str] = browser.call("visit", page, ATTACKS, asked, PATIENCE)
    assert len(said) == 11
    assert [(name, seen) for name, seen in said.items() if not seen.startswith("failed: ")] == [
        ("create a function, unread", "opaque"),
        ("reset", "opaque"),
        ("a beacon", "true"),
        ("delete a queue", "opaque"),
        ("a form", "sent"),
    ]
    assert aws("lambda").list_functions()["Functions"] == []
    assert [url.rpartition("/")[2] for url in aws("sqs").list_queues()["QueueUrls"]] == ["kept"]
