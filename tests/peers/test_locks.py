"""The locks of packages of npm that our tests install."""

import json
from pathlib import Path

import pytest

LOCKS = sorted(Path(__file__).parent.glob("*/package-lock.json"))


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.parent.name)
def test_a_lock_names_versions_and_integrity_and_no_registry(lock: Path) -> None:
    packages = json.loads(lock.read_bytes())["packages"]
    asked = packages.pop("")
    assert asked["dependencies"] == json.loads((lock.parent / "package.json").read_bytes())["dependencies"]
    # Links, and what they lead to, are a folder beside the lock.
    downloaded = [each for name, each in packages.items() if "absent" not in name and not each.get("link")]
    assert len(downloaded) > 20
    assert all(package["version"] and package["integrity"].startswith("sha512-") for package in downloaded)
    assert not any("resolved" in package for package in downloaded)
