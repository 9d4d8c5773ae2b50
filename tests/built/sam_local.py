"""The tests of `make sam-local`: the inbox in AWS's image, with sam local and Docker. `make test` does not run them.

The inbox has no store here; requests that need one are tested by `make rie` and in the local stack.
"""

import http.client
import json
import subprocess
import time
from pathlib import Path

from tests.built.tools import ARCHITECTURE, ROOT, SAM, environment_of_sam, sam
from tests.patience import PATIENCE

from postroom.local.ports import HOST, free_port


def test_an_event_is_answered_by_sam_local_invoke(built: Path, tmp_path: Path) -> None:
    event = ROOT / "events" / "inbox-get.json"
    said = sam(
        "local", "invoke", "InboxFunction", "--template", str(built / "template.yaml"), "--event", str(event),
        "--parameter-overrides", f"Architecture={ARCHITECTURE}",
        folder=ROOT, home=tmp_path,
    )  # fmt: skip
    [answer] = [json.loads(line) for line in said.splitlines() if line.startswith('{"statusCode"')]
    assert (answer["statusCode"], "post office" in answer["body"]) == (200, True)


def test_a_request_is_answered_by_sam_local_start_api(built: Path, tmp_path: Path) -> None:
    port = free_port()
    command = [SAM, "local", "start-api", "--template", str(built / "template.yaml"), "--port", str(port)]
    command += ["--parameter-overrides", f"Architecture={ARCHITECTURE}"]
    running = subprocess.Popen(command, cwd=ROOT, env=environment_of_sam(tmp_path), stderr=subprocess.DEVNULL)
    try:
        answer = asked(running, port, "/inbox")
        assert answer.status == http.client.OK
        assert b"post office" in answer.read()
        assert asked(running, port, "/favicon.ico").status == http.client.NOT_FOUND
    finally:
        running.terminate()
        running.wait()


def asked(running: "subprocess.Popen[bytes]", port: int, path: str) -> http.client.HTTPResponse:
    end = time.monotonic() + PATIENCE
    while True:
        connection = http.client.HTTPConnection(HOST, port, timeout=PATIENCE)
        try:
            connection.request("GET", path)
        except ConnectionRefusedError:
            assert running.poll() is None, "sam local start-api ended at once: run it by hand to see why"
            assert time.monotonic() < end, "sam local start-api does not answer"
            time.sleep(0.2)
        else:
            return connection.getresponse()
