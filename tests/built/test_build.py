"""`sam build` takes the template as it is, from any laptop's Python, for either processor."""

import hashlib
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
from tests.aws import NESTED, TEMPLATE, read, resources, template
from tests.built.conftest import RUNTIME
from tests.built.tools import ARCHITECTURE, LAYERS, ROOT, version_of

pytestmark = [pytest.mark.xdist_group("sam"), pytest.mark.tools]
EACH_ARCHITECTURE = pytest.mark.parametrize("architecture", LAYERS)
MEGABYTE = 1_000_000
ELF_MACHINES = {"x86_64": 62, "arm64": 183}
ELSEWHERE = tuple(
    f"{package}/" for package in runpy.run_path(str(ROOT / "layers" / "postroom" / "build.py"))["PACKAGES_ELSEWHERE"]
)
"""Rooms that no function imports, as the build leaves them out."""
GLIBC = (2, 34)
"""Of Amazon Linux 2023, on which the runtimes are built."""


def python_of(built: Path, architecture: str) -> Path:
    return built / LAYERS[architecture] / "python"


def files_of(folder: Path) -> dict[str, Path]:
    return {str(path.relative_to(folder)): path for path in folder.rglob("*") if path.is_file()}


def test_make_review_validates_each_template() -> None:
    said = (ROOT / "Makefile").read_text(encoding="utf-8")
    [templates] = re.findall(r"^TEMPLATES := (.*)$", said, re.MULTILINE)
    assert {ROOT / name for name in templates.split()} == {TEMPLATE, *NESTED}
    assert "sam validate --lint --template $$template" in said
    assert re.search(r"^make .*\breview$", (ROOT / ".ci" / "run").read_text(encoding="utf-8"), re.MULTILINE)


# --- the layer --------------------------------------------------------------------------------------------------------


@EACH_ARCHITECTURE
def test_the_layer_is_the_library_with_its_pinned_requirements(built: Path, architecture: str) -> None:
    layer = python_of(built, architecture)
    ours = {name.removesuffix("c") for name in files_of(layer / "postroom")}
    assert ours == {
        name
        for name in files_of(ROOT / "layers" / "postroom" / "postroom")
        if name.endswith(".py") and not name.startswith(ELSEWHERE)
    }
    installed = {_pin(*path.name.removesuffix(".dist-info").rpartition("-")[::2]) for path in layer.glob("*.dist-info")}
    lines = (ROOT / "layers" / "postroom" / "requirements.txt").read_text(encoding="utf-8").splitlines()
    assert installed == {_pin(*line.split()[0].split("==")) for line in lines if "==" in line}


def _pin(name: str, version: str) -> tuple[str, str]:
    return name.replace("_", "-").lower(), version


@EACH_ARCHITECTURE
def test_compiled_modules_fit_the_processor_the_python_and_the_linux_of_the_runtime(
    built: Path, architecture: str
) -> None:
    libraries = [path for name, path in files_of(built / LAYERS[architecture]).items() if ".so" in Path(name).suffixes]
    assert len(libraries) > 10
    for path in libraries:
        data = path.read_bytes()
        assert (data[:4], int.from_bytes(data[18:20], "little")) == (b"\x7fELF", ELF_MACHINES[architecture]), path
        named = re.search(r"\.cpython-3(\d+)-", path.name)
        assert named is None or f"3.{named[1]}" == RUNTIME, path
        asked = {(int(major), int(minor)) for major, minor in re.findall(rb"GLIBC_(\d+)\.(\d+)", data)}
        assert max(asked, default=GLIBC) <= GLIBC, path


@EACH_ARCHITECTURE
def test_the_layer_holds_no_tests_no_stubs_no_caches_and_no_programs(built: Path, architecture: str) -> None:
    names = files_of(built / LAYERS[architecture])
    assert [name for name in names if re.search(r"(^|/)(tests?|SelfTest|__pycache__|bin)/|\.pyi$|conftest", name)] == []


@EACH_ARCHITECTURE
def test_the_layer_holds_the_packages_of_the_library_that_functions_import_and_no_other(
    built: Path, architecture: str
) -> None:
    there = {path.stem for path in (python_of(built, architecture) / "postroom").iterdir()} - {"__init__"}
    assert there == rooms_of_functions()


def rooms_of_functions() -> set[str]:
    """The rooms that functions import, and those that these do, at their top or within."""
    folder = ROOT / "layers" / "postroom" / "postroom"
    seen: set[str] = set()
    wanted = {room for path in (ROOT / "functions").rglob("*.py") for room in _imported(path)}
    while wanted:
        room = wanted.pop()
        seen.add(room)
        one = folder / f"{room}.py"
        for path in [one] if one.exists() else (folder / room).rglob("*.py"):
            if not path.relative_to(folder).as_posix().startswith(ELSEWHERE):
                wanted |= _imported(path) - seen
    return seen


def _imported(path: Path) -> set[str]:
    return set(re.findall(r"^\s*(?:from|import) postroom\.(\w+)", path.read_text(encoding="utf-8"), re.MULTILINE))


@EACH_ARCHITECTURE
def test_botocore_describes_the_services_that_functions_have_clients_of(built: Path, architecture: str) -> None:
    library = ROOT / "layers" / "postroom" / "postroom"
    in_layer = [path for name, path in files_of(library).items() if not name.startswith(ELSEWHERE)]
    asked = {
        service
        for path in [*(ROOT / "functions").rglob("*.py"), *in_layer]
        if path.suffix == ".py"
        for service in re.findall(r"_clients\(\"([a-z0-9-]+)\"", path.read_text(encoding="utf-8"))
    }
    data = python_of(built, architecture) / "botocore" / "data"
    assert {path.name for path in data.iterdir() if path.is_dir()} == asked


@EACH_ARCHITECTURE
def test_the_layer_is_under_50_megabytes(built: Path, architecture: str) -> None:
    size = sum(path.stat().st_size for path in files_of(built / LAYERS[architecture]).values())
    print(f"{LAYERS[architecture]}: {size / MEGABYTE:.1f} MB")
    assert size < 50 * MEGABYTE


def test_the_same_input_gives_the_same_bytes(built: Path, python: str, tmp_path: Path) -> None:
    """Built once more by hand: in another folder, with another umask, by a Python that hashes otherwise."""
    layer = tmp_path / LAYERS["arm64"]
    source = ROOT / "layers" / "postroom"
    command = f'umask 077; exec make --makefile "{source}/Makefile" build-Arm64Layer'
    given = {**os.environ, "ARTIFACTS_DIR": str(layer), "PYTHON": python, "PYTHONHASHSEED": "7"}
    subprocess.run(["/bin/sh", "-c", command], cwd=source, check=True, env=given)
    assert digests(layer) == digests(built / LAYERS["arm64"])


def digests(folder: Path) -> dict[str, tuple[int, str]]:
    return {
        name: (path.stat().st_mode & 0o777, hashlib.sha256(path.read_bytes()).hexdigest())
        for name, path in files_of(folder).items()
    }


def test_modules_are_compiled_by_the_runtimes_python(running_build: Path) -> None:
    compiled = python_of(running_build, ARCHITECTURE)
    assert not list(compiled.rglob("*.py"))
    pyc = compiled / "postroom" / "reasons.pyc"
    # PEP 552: flags 1 are a hash that nobody checks; no time of day is in the file.
    assert pyc.read_bytes()[4:8] == (1).to_bytes(4, "little")


def test_the_build_reports_what_a_python_of_another_version_costs(
    running_build: Path, python: str, tmp_path: Path
) -> None:
    other = "3.12" if version_of(python) != "3.12" else "3.13"
    script = ROOT / "layers" / "postroom" / "build.py"
    nowhere = {**os.environ, "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        [python, str(script), str(tmp_path), ARCHITECTURE, other],
        env=nowhere,
        capture_output=True,
        text=True,
        check=True,
    )
    assert f"no Python {other} is here" in done.stderr
    plain = tmp_path / "python"
    assert not list(plain.rglob("*.pyc"))
    assert (plain / "postroom" / "reasons.py").read_bytes() == (
        ROOT / "layers" / "postroom" / "postroom" / "reasons.py"
    ).read_bytes()
    names = {name.removesuffix("c") for name in files_of(python_of(running_build, ARCHITECTURE)) if ".so" not in name}
    assert {name for name in files_of(plain) if ".so" not in name} == names


def test_the_layer_is_built_for_the_runtime_of_the_functions() -> None:
    said = (ROOT / "layers" / "postroom" / "Makefile").read_text(encoding="utf-8")
    assert f"\nRUNTIME ?= {RUNTIME}\n" in said
    for layer in resources("AWS::Serverless::LayerVersion").values():
        assert layer["CompatibleRuntimes"] == [f"python{RUNTIME}"]


def test_the_build_says_what_to_do_without_a_package_index(tmp_path: Path) -> None:
    nothing = {"PIP_NO_INDEX": "1", "PATH": "/usr/bin:/bin"}
    script = ROOT / "layers" / "postroom" / "build.py"
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path), "x86_64", RUNTIME],
        env=nothing, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode != 0
    assert "PYTHON=/path/to/python3 sam build" in done.stderr
    assert "Traceback" not in done.stderr


# --- the functions, and the rest --------------------------------------------------------------------------------------


@pytest.mark.parametrize("function", resources("AWS::Serverless::Function"))
def test_a_functions_package_holds_its_own_modules_only(built: Path, function: str) -> None:
    said = template()["Resources"][function]["Properties"]
    module = template()["Globals"]["Function"]["Handler"] if "Handler" not in said else said["Handler"]
    name = f"{module.partition('.')[0]}.py"
    [(found, copy)] = files_of(built / function).items()
    assert (found, copy.read_bytes()) == (name, (ROOT / said["CodeUri"] / name).read_bytes())


def test_the_built_template_still_finds_the_nested_ones(built: Path) -> None:
    """`sam deploy` uploads them from there."""
    text = (built / "template.yaml").read_text(encoding="utf-8")
    nested = [built / said for said in re.findall(r"TemplateURL: (\S+)", text)]
    assert {tuple(read(path)["Resources"]) for path in nested} == {tuple(read(path)["Resources"]) for path in NESTED}


def test_a_built_function_starts_from_the_built_layer_alone(running_build: Path, python: str, tmp_path: Path) -> None:
    """As on Lambda: nothing on the path but the function and the layer, which first says which setting is missing."""
    script = "import sys; sys.path[:0] = sys.argv[1:]; import app"
    paths = [str(running_build / "InboxFunction"), str(python_of(running_build, ARCHITECTURE))]
    done = subprocess.run(
        [python, "-I", "-S", "-c", script, *paths], capture_output=True, text=True, check=False, cwd=tmp_path,
        env={"AWS_REGION": "eu-west-1", "AWS_DEFAULT_REGION": "eu-west-1"},
    )  # fmt: skip
    assert "postroom.core.errors.SettingsError: DIRECTORY_TABLE is not set" in done.stderr
