"""docs/deploy.md, followed by a shell as far as it goes without an account: a local stack stands for the deployed one.

What `sam build` makes is looked at, and run, in tests/built.
"""

import re
import shlex
import subprocess
import time
import tomllib
from collections.abc import Iterator

import pytest
from tests.aws import TEMPLATE, resources, template
from tests.built.tools import SAM, environment_of_sam
from tests.end_to_end.shells import Shell, shell_beside

from postroom.cli.checkout import template_path
from postroom.local.stack import LocalStack

ROOT = TEMPLATE.parent
PAGE = (ROOT / "docs" / "deploy.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
INSTALL, KEYGEN, BUILD, DEPLOY, STATUS, PROOF, SERVE, LOOK, SEND, READ, MORE, UPGRADE, LOCALLY = BLOCKS
FOLLOWED = (KEYGEN, STATUS, PROOF, SERVE, LOOK, SEND, READ)
DOMAIN = "example.com"


def commands() -> list[list[str]]:
    """Every command of the page, in words."""
    return [shlex.split(line) for block in BLOCKS for line in block.splitlines()]


@pytest.fixture(scope="module")
def stack() -> Iterator[LocalStack]:
    with LocalStack(template_path()) as running:
        running.deploy("postroom")
        yield running


@pytest.fixture(scope="module")
def shell(stack: LocalStack, tmp_path_factory: pytest.TempPathFactory) -> Shell:
    return shell_beside(stack, tmp_path_factory.mktemp("operator"))


def test_an_operator_goes_from_a_key_to_the_first_message_as_the_page_says(stack: LocalStack, shell: Shell) -> None:
    made = follow(shell, KEYGEN)
    record = next(line for line in made.splitlines() if line.startswith(f"pk1._domainkey.{DOMAIN}. "))
    shell(f"test -e {DOMAIN}.pem")
    assert "postroom domain add" in follow(shell, STATUS)

    # What the outputs say, and what a registrar is told:
    stack.tree.put(DOMAIN, f"nlweb IN A 127.0.0.1\npw IN A 127.0.0.1\n{record}\n")
    for host in ("nlweb", "pw"):
        stack.deployments["postroom"].serve_host(f"{host}.{DOMAIN}")
    assert len(re.findall(r"\bsecure\b", follow(shell, PROOF))) >= 2

    follow(shell, SERVE)
    assert follow(shell, LOOK).rstrip().endswith(f"{DOMAIN}: good")
    assert "Queued" in follow(shell, SEND)
    waited_for(shell, f"postroom read {DOMAIN}", "Good morning")
    assert follow(shell, READ).rstrip().endswith("nothing is wrong")


def follow(shell: Shell, block: str) -> str:
    """What a block prints; the local stack stands for the one that it names."""
    return shell(block.replace("export POSTROOM_STACK=postroom\n", ""))


def waited_for(shell: Shell, command: str, what: str) -> None:
    end = time.monotonic() + 60
    while what not in shell(command):
        assert time.monotonic() < end, f"{command} never says {what!r}"
        time.sleep(0.2)


# --- what is not run ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def help_of(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What each sub-command of sam that the page names says of itself."""
    home, told = tmp_path_factory.mktemp("home"), {}
    for command in {_sub_command(words) for words in commands() if words[0] == "sam"}:
        done = subprocess.run(
            [SAM, *command.split(), "--help"], capture_output=True, text=True, check=True, env=environment_of_sam(home)
        )
        told[command] = done.stdout
    return told


def _sub_command(words: list[str]) -> str:
    return f"local {words[2]}" if words[1] == "local" else words[1]


def test_sam_has_the_commands_and_options_of_the_page(help_of: dict[str, str]) -> None:
    for words in commands():
        if words[0] == "sam":
            options = [word for word in words if word.startswith("--")]
            assert [option for option in options if option not in help_of[_sub_command(words)]] == [], words


def test_every_command_of_postroom_on_the_page_is_run_here() -> None:
    run = [line for block in FOLLOWED for line in block.splitlines()]
    ours = [line for block in BLOCKS for line in block.splitlines() if line.startswith("postroom ")]
    assert [line for line in ours if line not in run] == ["postroom --version"]


def test_the_parameters_that_the_page_names_are_there() -> None:
    declared = set(template()["Parameters"])
    named = set(re.findall(r"^\| `([A-Z]\w+)` \|", PAGE, re.MULTILINE)) | set(re.findall(r"\b([A-Z]\w+)=", PAGE))
    assert named - declared - {"AWS_DEFAULT_REGION", "POSTROOM_STACK", "PYTHON", "ApiId"} == set()
    assert {"DomainName", "HostedZoneId", "CertificateArn", "AlarmEmail", "Architecture", "Stage"} <= named


def test_the_page_says_how_often_sam_asks_whether_a_route_without_authentication_is_meant() -> None:
    routes = [event for said in resources("AWS::Serverless::Function").values() for event in said["Events"].values()]
    assert len([event for event in routes if event["Type"] == "HttpApi"]) == 11
    assert "eleven times" in PAGE


def test_samconfig_says_what_the_page_leaves_out() -> None:
    said = tomllib.loads((ROOT / "samconfig.toml").read_text(encoding="utf-8"))
    for environment in ("default", "dev"):
        deploy = said[environment]["deploy"]["parameters"]
        assert set(deploy["capabilities"].split()) == {"CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND"}
        assert deploy["resolve_s3"] is True
    assert "Stage=dev" in said["dev"]["deploy"]["parameters"]["parameter_overrides"]


def test_what_outlives_the_stack_is_as_many_as_the_page_says() -> None:
    kept = [
        said["Type"] for said in template()["Resources"].values() if said.get("DeletionPolicy", "Delete") != "Delete"
    ]
    assert {kind: kept.count(kind) for kind in set(kept)} == {
        "AWS::DynamoDB::Table": 5, "AWS::S3::Bucket": 1, "AWS::SecretsManager::Secret": 4,
    }  # fmt: skip
    assert "five tables (deletion protection is on), the bucket,\nfour secrets" in PAGE
