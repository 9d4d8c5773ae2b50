"""`postroom keygen`: a private key for one, a record for everybody."""

import json
import re
import stat
import subprocess
from pathlib import Path

import pytest
from tests.cli.conftest import Postroom, code_of

from postroom.cli.descriptor import DEFAULT_PATH
from postroom.crypto.rsa_ed25519 import PrivateKey
from postroom.protocols.nlweb.key_record import parse_key_record


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("algorithm", ["rsa", "ed25519"])
def test_the_record_publishes_the_key_in_the_file(postroom: Postroom, tmp_path: Path, algorithm: str) -> None:
    result = postroom("keygen", "--algorithm", algorithm, "--domain", "sender.example", "--json")
    printed = json.loads(result.stdout)
    key = PrivateKey.from_pem((tmp_path / "key.pem").read_bytes())
    assert result.exit_code == 0
    assert parse_key_record([printed["record"].encode()]) == key.public
    assert (printed["algorithm"], printed["fingerprint"]) == (algorithm, key.public.fingerprint)


def test_the_record_is_split_into_strings_that_dns_can_store(postroom: Postroom) -> None:
    printed = json.loads(postroom("keygen", "--domain", "sender.example", "--json").stdout)
    assert "".join(printed["strings"]) == printed["record"]
    assert len(printed["strings"]) > 1
    assert max(map(len, printed["strings"])) <= 255
    assert printed["zone_line"].startswith('nlweb._domainkey.sender.example. IN TXT "v=DKIM1; ')
    for part in printed["strings"]:
        assert f'"{part}"' in printed["zone_line"]


@pytest.mark.parametrize(
    ("options", "name"),
    [
        (("--domain", "Sender.Example."), "nlweb._domainkey.sender.example"),
        (("--domain", "sender.example", "--selector", "pk1"), "pk1._domainkey.sender.example"),
        (("--domain", "sender.example", "--dialect", "pollyweb"), "pw1._domainkey.pw.sender.example"),
        ((), "nlweb._domainkey"),
        (("--dialect", "pollyweb", "--selector", "a.b"), "a.b._domainkey.pw"),
    ],
)
def test_the_name_of_the_record_follows_the_dialect(postroom: Postroom, options: tuple[str, ...], name: str) -> None:
    printed = json.loads(postroom("keygen", "--algorithm", "ed25519", "--json", *options).stdout)
    assert printed["name"] == name
    # Relative to the zone, unless the domain is known.
    assert printed["zone_line"].split()[0] == (f"{name}." if "--domain" in options else name)


def test_the_text_output_has_the_same_record(postroom: Postroom) -> None:
    printed = json.loads(postroom("keygen", "--domain", "sender.example", "--json").stdout)
    shown = postroom("keygen", "--domain", "sender.example", "--out", "second.pem").stdout
    assert "nlweb._domainkey.sender.example. IN TXT" in shown
    assert "PRIVATE KEY" not in shown + printed["record"]


def test_the_private_key_is_readable_by_its_owner_alone(postroom: Postroom, tmp_path: Path) -> None:
    postroom("keygen")
    assert mode(tmp_path / "key.pem") == 0o600


def test_a_key_is_not_overwritten_without_force(postroom: Postroom, tmp_path: Path) -> None:
    postroom("keygen")
    before = (tmp_path / "key.pem").read_bytes()
    result = postroom("keygen")
    assert result.exit_code == 2
    assert result.stderr == "postroom: key.pem exists; use --force to overwrite it, or --out to write elsewhere\n"
    assert (tmp_path / "key.pem").read_bytes() == before


def test_an_overwritten_key_file_gets_private_permissions(postroom: Postroom, tmp_path: Path) -> None:
    (tmp_path / "key.pem").write_text("old" * 5000)
    (tmp_path / "key.pem").chmod(0o644)
    assert postroom("keygen", "--force", "--algorithm", "ed25519").exit_code == 0
    assert PrivateKey.from_pem((tmp_path / "key.pem").read_bytes()).public.algorithm == "ed25519"
    assert mode(tmp_path / "key.pem") == 0o600


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--selector", "../x"), "--selector is '../x'; it must be labels of letters, digits and hyphens"),
        (("--domain", "no host"), "'no host' is not a host name"),
        (("--dialect", "esperanto"), "--dialect is 'esperanto'; it must be nlweb or pollyweb"),
        (("--algorithm", "dsa"), "'dsa' is not one of"),
        (("--out", "missing/key.pem"), "missing/key.pem: No such file or directory"),
    ],
)
def test_nothing_is_written_for_a_wrong_option(
    postroom: Postroom, tmp_path: Path, options: tuple[str, ...], sentence: str
) -> None:
    result = postroom("keygen", *options)
    assert result.exit_code == code_of(sentence)
    assert sentence in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_the_record_of_an_existing_key_is_shown_for_either_dialect(postroom: Postroom, tmp_path: Path) -> None:
    first = json.loads(postroom("keygen", "--domain", "sender.example", "--selector", "pk1", "--json").stdout)
    pem = (tmp_path / "key.pem").read_bytes()
    again = ("keygen", "--key", "key.pem", "--domain", "sender.example", "--selector", "pk1", "--json")
    assert json.loads(postroom(*again).stdout) == first
    other = json.loads(postroom(*again, "--dialect", "pollyweb").stdout)
    assert (other["name"], other["record"]) == ("pk1._domainkey.pw.sender.example", first["record"])
    assert (tmp_path / "key.pem").read_bytes() == pem


@pytest.mark.parametrize("more", [("--out", "b.pem"), ("--force",), ("--algorithm", "rsa")])
def test_an_existing_key_is_not_generated_again(postroom: Postroom, tmp_path: Path, more: tuple[str, ...]) -> None:
    postroom("keygen")
    pem = (tmp_path / "key.pem").read_bytes()
    result = postroom("keygen", "--key", "key.pem", *more)
    assert (result.exit_code, "with --key, no key is made" in result.stderr) == (2, True)
    assert [path.name for path in tmp_path.glob("*.pem")] == ["key.pem"]
    assert (tmp_path / "key.pem").read_bytes() == pem


# --- what must not be published ---------------------------------------------------------------------------------------

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
KEYS_OF_PAGES = {
    found
    for page in PAGES
    for found in re.findall(r"--(?:key|out) ([\w./-]+\.(?:pem|json))", page.read_text(encoding="utf-8"))
}


def is_ignored(file: Path | str, folder: Path) -> bool:
    subprocess.run(["git", "init", "--quiet", "."], cwd=folder, check=True)
    (folder / ".gitignore").write_bytes((ROOT / ".gitignore").read_bytes())
    return subprocess.run(["git", "check-ignore", "--quiet", file], cwd=folder, check=False).returncode == 0


@pytest.mark.parametrize("command", [("keygen",), ("dm3", "keygen", "--delivery-service", "ds.eth")], ids=" ".join)
def test_git_ignores_the_private_key_that_a_command_writes_by_default(
    postroom: Postroom, tmp_path: Path, command: tuple[str, ...]
) -> None:
    assert postroom(*command).exit_code == 0
    [file] = tmp_path.iterdir()
    assert is_ignored(file, tmp_path)


@pytest.mark.parametrize("file", sorted({f"{DEFAULT_PATH.parent}/keys/alice.eth.json"} | KEYS_OF_PAGES))
def test_git_ignores_every_private_key_of_make_up_and_of_the_pages(file: str, tmp_path: Path) -> None:
    assert is_ignored(file, tmp_path)


def test_the_pages_name_private_keys() -> None:
    assert len(KEYS_OF_PAGES) > 5
