"""`sam validate --lint` and `sam build` take the template as it is, offline, with the sources of this checkout.

aws-sam-cli lives in an environment of its own: its pins clash with ours.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SAM = ROOT / os.environ.get("SAM_VENV", ".venv-sam") / "bin" / "sam"
PYTHON = f"python{sys.version_info.major}.{sys.version_info.minor}"

pytestmark = pytest.mark.xdist_group("sam")


def sam(*arguments: str, folder: Path, home: Path) -> str:
    """Run sam; what it said. AssertionError with that where it failed."""
    assert SAM.exists(), f"there is no {SAM}: `make test` installs aws-sam-cli there"
    environment = {
        **os.environ,
        # A builder of Python functions looks for the interpreter of the runtime and its pip.
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "SAM_CLI_TELEMETRY": "0",
        "__SAM_CLI_APP_DIR": str(home),
        "AWS_DEFAULT_REGION": "eu-west-1",
    }
    done = subprocess.run(
        [SAM, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=600
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_sam_finds_nothing_wrong_with_the_template(tmp_path: Path) -> None:
    said = sam("validate", "--lint", "--template", str(ROOT / "template.yaml"), folder=ROOT, home=tmp_path)
    assert "is a valid SAM Template" in said


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """What `sam build` makes of this checkout; the runtime is the Python that runs here, whichever it is."""
    folder, home = tmp_path_factory.mktemp("checkout"), tmp_path_factory.mktemp("home")
    for part in ("functions", "layers"):
        shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    text = (ROOT / "template.yaml").read_text(encoding="utf-8")
    assert text.count("python3.11") == 3  # Runtime, BuildMethod, CompatibleRuntimes
    (folder / "template.yaml").write_text(text.replace("python3.11", PYTHON), encoding="utf-8")
    sam("build", folder=folder, home=home)
    yield folder / ".aws-sam" / "build"
    shutil.rmtree(folder)


def test_the_layer_is_the_library_with_what_it_needs_as_pinned(built: Path) -> None:
    layer = built / "PostroomLayer" / "python"
    for module in (ROOT / "layers" / "postroom" / "postroom").rglob("*.py"):
        copy = layer / module.relative_to(ROOT / "layers" / "postroom")
        assert copy.read_bytes() == module.read_bytes()
    installed = {_pin(*path.name.removesuffix(".dist-info").rpartition("-")[::2]) for path in layer.glob("*.dist-info")}
    lines = (ROOT / "layers" / "postroom" / "requirements.txt").read_text(encoding="utf-8").splitlines()
    pinned = {_pin(*line.split()[0].split("==")) for line in lines if "==" in line}
    assert installed <= pinned
    assert {"boto3", "cryptography", "dnspython", "jiter", "orjson", "pynacl", "rfc8785"} <= {n for n, _ in installed}


def _pin(name: str, version: str) -> tuple[str, str]:
    return name.replace("_", "-").lower(), version


def test_the_layer_holds_no_tests_and_no_tools(built: Path) -> None:
    layer = built / "PostroomLayer" / "python"
    names = {path.name for path in layer.iterdir()}
    assert not names & {"tests", "pytest", "moto", "ministack", "typer", "hypercorn", "samtranslator", "benchmarks"}
    assert not list((layer / "postroom").rglob("test_*"))
    assert not list((layer / "postroom").rglob("conftest.py"))


def test_the_layer_fits_what_lambda_unpacks(built: Path) -> None:
    size = sum(path.stat().st_size for path in (built / "PostroomLayer").rglob("*") if path.is_file())
    assert size < 200 * 1024 * 1024  # of 250 MB, function and layers together


@pytest.mark.parametrize(
    ("function", "files"),
    [
        ("InboxFunction", {"app.py"}),
        ("WorkerFunction", {"app.py", "keeper.py"}),
        ("KeeperFunction", {"app.py", "keeper.py"}),
        ("CourierFunction", {"app.py"}),
    ],
)
def test_a_function_is_its_own_few_lines(built: Path, function: str, files: set[str]) -> None:
    assert {path.name for path in (built / function).rglob("*") if path.is_file()} == files


def test_the_built_template_still_finds_the_jobs_scripts(built: Path) -> None:
    """`sam deploy` uploads them from there."""
    said = re.findall(r"ScriptLocation: (\S+)", (built / "template.yaml").read_text(encoding="utf-8"))
    checkout = built.parent.parent.resolve()
    found = {str((built / script).resolve().relative_to(checkout)) for script in said}
    assert found == {"glue_jobs/compact_chunks.py", "glue_jobs/expire_messages.py"}


def test_a_built_function_starts_from_the_built_layer_alone(built: Path, tmp_path: Path) -> None:
    """As on Lambda: nothing on the path but the function and the layer, which first says which setting is missing."""
    script = "import sys; sys.path[:0] = sys.argv[1:]; import app"
    paths = [str(built / "InboxFunction"), str(built / "PostroomLayer" / "python")]
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", script, *paths], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert "postroom.errors.SettingsError: DIRECTORY_TABLE is not set" in done.stderr
