"""A sender with nothing but a shell: the specification's OpenSSL commands, and curl."""

import json
import os
import shutil
import subprocess
import uuid
from pathlib import Path

import pytest
from tests.patience import PATIENCE

from postroom.core.canonical import jcs
from postroom.core.timestamps import write_timestamp
from postroom.crypto.rsa_ed25519 import PrivateKey
from postroom.demo.scenes import Story, now_ms
from postroom.demo.stack import RECEIVER, SUBJECT, DemoStack
from postroom.protocols.nlweb.key_record import record_text, zone_line

# One stack serves all of these: they run in one process.
pytestmark = pytest.mark.xdist_group("demo")

SHELL = "shell.example"
COMMANDS = """
openssl genrsa -out private.pem 2048
cat canonical.json | openssl dgst -sha256 > hash.txt
truncate -s -1 hash.txt
openssl dgst -sha256 -sign private.pem -out signature.sha1 canonical.json
openssl base64 -A -in signature.sha1 -out signature.txt
"""


@pytest.fixture(autouse=True)
def tools() -> None:
    missing = [tool for tool in ("openssl", "curl", "truncate") if shutil.which(tool) is None]
    if missing and os.environ.get("CI"):
        pytest.fail(f"CI must have {', '.join(missing)}")
    if missing:
        pytest.skip(f"needs {', '.join(missing)}")


def run(command: str, folder: Path) -> str:
    done = subprocess.run(
        ["sh", "-euc", command], cwd=folder, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_message_signed_by_openssl_and_posted_by_curl_is_filed(
    story: Story, demo_stack: DemoStack, tmp_path: Path
) -> None:
    content = {
        "Header": {
            "From": SHELL,
            "To": RECEIVER,
            "Subject": SUBJECT,
            "Correlation": str(uuid.uuid4()),
            "Timestamp": write_timestamp(now_ms()),
            "DKIM": "pk1",
        },
        "Body": {"Text": "from a shell"},
    }
    (tmp_path / "canonical.json").write_bytes(jcs(content))
    run(COMMANDS, tmp_path)
    public = PrivateKey.from_pem((tmp_path / "private.pem").read_bytes()).public
    demo_stack.stack.tree.put(SHELL, zone_line(f"pk1._domainkey.{SHELL}", record_text(public)) + "\n")
    envelope = {
        "🤝": "nlweb.org/MSG:1.0",
        **content,
        "Hash": (tmp_path / "hash.txt").read_text().rpartition("= ")[2],
        "Signature": (tmp_path / "signature.txt").read_text(),
    }
    (tmp_path / "message.json").write_text(json.dumps(envelope, ensure_ascii=False))
    host, port = f"nlweb.{RECEIVER}", demo_stack.stack.edge.port
    answer = run(
        f"curl --silent --fail-with-body --cacert {demo_stack.stack.authority.pem} --resolve {host}:{port}:127.0.0.1 "
        f"https://{host}:{port}/inbox -H 'Content-Type: application/json' --data-binary @message.json",
        tmp_path,
    )
    assert json.loads(answer) == {"Correlation": content["Header"]["Correlation"], "Status": "Queued"}
    message = story.find_filed(demo_stack.receiver, RECEIVER, envelope)
    assert message.line.receipt["key_fingerprint"] == public.fingerprint
