"""What `from postroom.client import Mailbox, AsyncMailbox` loads: nothing of the server, and no client of AWS."""

import json
import subprocess
import sys

import pytest

SCRIPT = """
import json, sys
from postroom.client import AsyncMailbox, Mailbox
print(json.dumps(sorted(sys.modules)))
"""
OF_THE_SERVER = {"http", "jobs", "outbound", "pipeline", "runtime", "storage"}
OF_OTHERS = {"aws_lambda_powertools", "boto3", "botocore", "dns", "pyspark", "typer", "yaml"}


def test_errors_and_retries_are_imported_from_the_client_itself() -> None:
    from postroom import client
    from postroom.client import mailbox

    errors = [name for name in mailbox.__all__ if name.endswith(("Error", "Warning"))]
    for name in ("AsyncMailbox", "Mailbox", "Retries", *errors):
        assert getattr(client, name) is getattr(mailbox, name)
        assert name in client.__all__
    with pytest.raises(AttributeError):
        client.Nothing  # noqa: B018


def test_a_mailbox_is_imported_without_the_server_and_without_aws() -> None:
    ran = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    loaded: list[str] = json.loads(ran.stdout)
    assert "postroom.client.mailbox.sync" in loaded
    assert {name.split(".")[1] for name in loaded if name.startswith("postroom.")} & OF_THE_SERVER == set()
    assert {name.partition(".")[0] for name in loaded} & OF_OTHERS == set()
