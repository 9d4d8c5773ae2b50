"""The packages of the Glue jobs: fetched by the hashes of the lock file, and installed from these files alone."""

import re
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import pytest

from postroom.cli.job_wheels import fetch_wheels
from postroom.cli.library import published
from postroom.core.errors import OurError
from postroom.jobs.library import WHEELS, library, script
from postroom.local.checkout import job_scripts, layer_lock

pytestmark = pytest.mark.tools
LOCK = layer_lock().read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def uploaded() -> dict[str, bytes]:
    return dict(published(wheels=True))


def test_for_a_deployment_on_aws_the_packages_are_uploaded_with_scripts_and_library(uploaded: dict[str, bytes]) -> None:
    assert uploaded.keys() == {*WHEELS, *(script(path.stem) for path in job_scripts()), library()}


def test_each_package_has_a_hash_of_the_lock_file(uploaded: dict[str, bytes]) -> None:
    pinned = set(re.findall(r"--hash=sha256:(\w+)", LOCK))
    assert {sha256(uploaded[name]).hexdigest() for name in WHEELS} <= pinned


def test_pip_installs_them_without_a_package_index(uploaded: dict[str, bytes], tmp_path: Path) -> None:
    """As Glue does, where the other packages that boto3 needs are installed already."""
    for name in WHEELS:
        (tmp_path / name).write_bytes(uploaded[name])
    target = tmp_path / "installed"
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--only-binary", ":all:"]
    command += ["--python-version", "3.11", "--implementation", "cp", "--platform", "manylinux2014_x86_64"]
    command += ["--target", str(target), *(str(tmp_path / name) for name in WHEELS)]
    subprocess.run(command, check=True)
    assert {path.name for path in target.iterdir()} >= {"boto3", "botocore", "s3transfer", "orjson", "msgspec"}


def test_a_package_with_another_hash_is_refused(tmp_path: Path) -> None:
    lock = tmp_path / "lock.txt"
    [pinned] = re.findall(r"^s3transfer==.*(?:\n    --hash=.*)+", LOCK, re.MULTILINE)
    lock.write_text(re.sub(r"sha256:\w{8}", "sha256:00000000", pinned), encoding="utf-8")
    with pytest.raises(OurError, match="could not be fetched by"):
        fetch_wheels(lock, tmp_path)


def test_a_lock_file_with_other_packages_than_the_jobs_name_is_refused(tmp_path: Path) -> None:
    lock = tmp_path / "lock.txt"
    [pinned] = re.findall(r"^s3transfer==.*(?:\n    --hash=.*)+", LOCK, re.MULTILINE)
    lock.write_text(pinned, encoding="utf-8")
    with pytest.raises(OurError, match="names other packages than"):
        fetch_wheels(lock, tmp_path)
