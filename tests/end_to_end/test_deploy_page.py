"""docs/operate/deploy.md, followed by a shell as far as it goes without an account; a local stack replaces AWS.

What `sam build` makes is looked at, and run, in tests/built.
"""

import json
import re
import shlex
import subprocess
import tomllib
from pathlib import Path

import pytest
from botocore import xform_name
from botocore.session import Session
from tests.aws import TEMPLATE, resources, template
from tests.built.tools import SAM, environment_of_sam
from tests.end_to_end.shells import Shell, shell_beside

from postroom.demo.deployment import until
from postroom.local.stack import LocalDeployment, LocalStack

# One stack serves all of these: they run in one process.
pytestmark = pytest.mark.xdist_group("demo")

ROOT = TEMPLATE.parent
PAGE = (ROOT / "docs" / "operate" / "deploy.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
(
    INSTALL, ACCOUNT, KEYGEN, ZONE, CERTIFICATE, BUILD, DEPLOY, STATUS, PROOF, SERVE, LOOK, SEND, READ, MORE, UPGRADE,
    ROLL_BACK, REMOVE, LET_GO, LOCALLY,
) = BLOCKS  # fmt: skip
FOLLOWED = (KEYGEN, STATUS, PROOF, SERVE, LOOK, SEND, READ)
DOMAIN = "example.com"


def commands() -> list[list[str]]:
    """Every command of the page, in words."""
    return [shlex.split(line) for block in BLOCKS for line in block.splitlines()]


@pytest.fixture
def deployment(stack: LocalStack) -> LocalDeployment:
    """As it was deployed: without a domain."""
    return stack.deploy("postroom")


@pytest.fixture
def shell(deployment: LocalDeployment, stack: LocalStack, tmp_path: Path) -> Shell:
    """A shell that knows of this deployment alone, as an operator's does."""
    return shell_beside(stack, tmp_path, only=deployment.name)


def test_the_commands_of_the_page_lead_from_a_key_to_the_first_message(
    stack: LocalStack, deployment: LocalDeployment, shell: Shell
) -> None:
    made = follow(shell, KEYGEN)
    names = (f"pk1._domainkey.{DOMAIN}. ", f"pk1._domainkey.pw.{DOMAIN}. ")
    records = [line for line in made.splitlines() if line.startswith(names)]
    assert [record.partition("IN TXT")[0] for record in records] == list(names)
    shell(f"test -e {DOMAIN}.pem")
    assert "postroom domain add" in follow(shell, STATUS)

    # What the outputs say, and what a registrar is told:
    stack.tree.put(DOMAIN, "nlweb IN A 127.0.0.1\npw IN A 127.0.0.1\n" + "\n".join(records) + "\n")
    for host in ("nlweb", "pw"):
        deployment.serve_host(f"{host}.{DOMAIN}")
    assert len(re.findall(r"\bsecure\b", follow(shell, PROOF))) >= 3

    follow(shell, SERVE)
    assert re.findall(rf"^{DOMAIN}: (.*)$", follow(shell, LOOK), re.MULTILINE) == ["good", "good"]
    assert "Queued" in follow(shell, SEND)
    until("the message is read", lambda: "Good morning" in shell(f"postroom read {DOMAIN}") or None)
    assert follow(shell, READ).rstrip().endswith("nothing is wrong")


def follow(shell: Shell, block: str) -> str:
    """What a block prints; the local stack stands for the one that it names."""
    return shell(block.replace("export POSTROOM_STACK=postroom\n", ""))


HELP_OF_SAM = """
import json, sys
from click.testing import CliRunner
from samcli.cli.main import cli

said = {command: CliRunner().invoke(cli, [*command.split(), "--help"]) for command in sys.argv[1:]}
assert all(each.exit_code == 0 for each in said.values()), said
print(json.dumps({command: each.output for command, each in said.items()}))
"""


# --- what is not run ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def help_of(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What each sub-command of sam that the page names says of itself, in one process: to load sam takes seconds."""
    asked = {_sub_command(words) for words in commands() if words[0] == "sam"}
    done = subprocess.run(
        [SAM.with_name("python"), "-c", HELP_OF_SAM, *sorted(asked)],
        capture_output=True, text=True, check=True, env=environment_of_sam(tmp_path_factory.mktemp("home")),
    )  # fmt: skip
    printed: dict[str, str] = json.loads(done.stdout)
    return printed


def _sub_command(words: list[str]) -> str:
    return f"local {words[2]}" if words[1] == "local" else words[1]


@pytest.mark.tools
def test_sam_has_the_commands_and_options_of_the_page(help_of: dict[str, str]) -> None:
    for words in commands():
        if words[0] == "sam":
            options = [word for word in words if word.startswith("--")]
            assert [option for option in options if option not in help_of[_sub_command(words)]] == [], words


def test_every_command_of_postroom_on_the_page_is_run_here() -> None:
    run = [line for block in FOLLOWED for line in block.splitlines()]
    ours = [line for block in BLOCKS for line in block.splitlines() if line.startswith("postroom ")]
    assert [line for line in ours if line not in run] == ["postroom --version"]


def test_aws_has_the_calls_and_arguments_of_the_page() -> None:
    """By botocore, from whose descriptions the commands of aws-cli are made; `aws s3 rm` alone is of its own making."""
    described = Session()
    asked = [words for words in commands() if words[0] == "aws"]
    assert len(asked) > 9
    for _, service, command, *rest in asked:
        if (service, command) == ("s3", "rm"):
            continue
        model, operation = described.get_service_model(service.removesuffix("api")), command
        if command == "wait":
            waiters = described.get_waiter_model(service)
            waiter = {xform_name(name, "-"): name for name in waiters.waiter_names}[rest.pop(0)]
            operation = xform_name(waiters.get_waiter(waiter).operation, "-")
        name = {xform_name(name, "-"): name for name in model.operation_names}[operation]
        takes = {xform_name(member, "-") for member in model.operation_model(name).input_shape.members}
        given = {word.removeprefix("--").removeprefix("no-") for word in rest if word.startswith("--")}
        assert given - {"query", "output"} <= takes, (service, command)


def test_upgrades_and_a_rollback_keep_the_settings(tmp_path: Path) -> None:
    """By git itself: what the release has is what lies there, and what the operator answered stays."""

    def git(where: Path, *commands: str) -> str:
        who = "-c user.name=operator -c user.email=operator@example.com"
        for command in commands:
            words = shlex.split(command.replace("git ", f"git {who} ", 1))
            said = subprocess.run(words, cwd=where, check=True, capture_output=True, text=True).stdout.strip()
        return said

    def release(**files: str | None) -> None:
        for name, text in files.items():
            (ours / name).unlink(missing_ok=True)
            if text is not None:
                (ours / name).write_text(text)
        git(ours, "git add --all", "git commit --quiet --message release")

    def found() -> dict[str, str]:
        return {path.name: path.read_text() for path in theirs.iterdir() if path.is_file()}

    def upgraded() -> str:
        noted, *lines = [line for line in UPGRADE.splitlines() if line.startswith("git ")]
        runs = git(theirs, noted)
        git(theirs, *lines)
        return runs

    [roll_back] = [line for line in ROLL_BACK.splitlines() if line.startswith("git ")]
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    git(tmp_path, f"git init --quiet --initial-branch=main {ours}")
    release(template="1", gone="1", samconfig="ours")
    git(tmp_path, f"git clone --quiet {ours} {theirs}")
    (theirs / "samconfig").write_text("answered")
    release(template="2", gone=None, come="2")
    first = upgraded()
    assert found() == {"template": "2", "come": "2", "samconfig": "answered"}
    git(theirs, roll_back.replace("COMMIT", first))
    assert found() == {"template": "1", "gone": "1", "samconfig": "answered"}
    release(template="3")
    assert upgraded() == first
    assert found() == {"template": "3", "come": "2", "samconfig": "answered"}


def test_the_parameters_that_the_page_names_are_there() -> None:
    declared = set(template()["Parameters"])
    named = set(re.findall(r"^\| `([A-Z]\w+)` \|", PAGE, re.MULTILINE)) | set(re.findall(r"\b([A-Z]\w+)=(?!=)", PAGE))
    assert named - declared - {"AWS_DEFAULT_REGION", "POSTROOM_STACK", "PYTHON", "ApiId"} == set()
    assert {"DomainName", "HostedZoneId", "CertificateArn", "AlarmEmail", "Architecture", "Stage"} <= named


def test_the_page_says_how_often_sam_asks_whether_a_route_without_authentication_is_meant() -> None:
    routes = [event for said in resources("AWS::Serverless::Function").values() for event in said["Events"].values()]
    assert len([event for event in routes if event["Type"] == "HttpApi"]) == 14
    assert "fourteen times" in PAGE


def test_samconfig_says_what_the_page_leaves_out() -> None:
    said = tomllib.loads((ROOT / "samconfig.toml").read_text(encoding="utf-8"))
    for environment in ("default", "dev"):
        deploy = said[environment]["deploy"]["parameters"]
        assert set(deploy["capabilities"].split()) == {"CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND"}
        assert deploy["resolve_s3"] is True
    assert "Stage=dev" in said["dev"]["deploy"]["parameters"]["parameter_overrides"]


def test_the_page_has_the_number_of_resources_that_outlive_the_stack() -> None:
    kept = [
        said["Type"] for said in template()["Resources"].values() if said.get("DeletionPolicy", "Delete") != "Delete"
    ]
    assert {kind: kept.count(kind) for kind in set(kept)} == {
        "AWS::DynamoDB::Table": 6, "AWS::S3::Bucket": 1, "AWS::SecretsManager::Secret": 6,
    }  # fmt: skip
    assert "six tables (deletion protection is on), the bucket, six secrets" in PAGE
