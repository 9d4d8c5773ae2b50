"""What `from postroom.client import Mailbox, AsyncMailbox` loads: nothing of the server, and no client of AWS."""

import json
import subprocess
import sys

SCRIPT = """
import json, sys
from postroom.client import AsyncMailbox, Mailbox
print(json.dumps(sorted(sys.modules)))
"""
OF_THE_SERVER = {"http", "jobs", "outbound", "pipeline", "runtime", "storage"}
OF_OTHERS = {"aws_lambda_powertools", "boto3", "botocore", "dns", "pyspark", "typer", "yaml"}


def test_a_mailbox_is_imported_without_the_server_and_without_aws() -> None:
    ran = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    loaded: list[str] = json.loads(ran.stdout)
    assert "postroom.client.mailbox.sync" in loaded
    assert {name.split(".")[1] for name in loaded if name.startswith("postroom.")} & OF_THE_SERVER == set()
    assert {name.partition(".")[0] for name in loaded} & OF_OTHERS == set()
