"""The OpenSSL commands of the specification, as printed there, both ways against ours.

"How to create the canonical hash / a signature / validate a signature with OpenSSL?"
"""

import hashlib
import os
import shutil
import subprocess
from base64 import b64decode, b64encode
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_der_public_key
from tests.patience import PATIENCE

from postroom.core.canonical import jcs
from postroom.crypto.rsa_ed25519 import PrivateKey, PublicKey, public_key_from_spki

pytestmark = [
    pytest.mark.tools,
    pytest.mark.skipif(shutil.which("openssl") is None and not os.environ.get("CI"), reason="openssl is not installed"),
]

HASH = """
cat canonical.json | openssl dgst -sha256 > hash.txt
truncate -s -1 hash.txt
cat hash.txt
"""
SIGN = """
openssl dgst -sha256 -sign private.pem -out signature.sha1 canonical.json
openssl base64 -A -in signature.sha1 -out signature.txt
cat signature.txt
"""
VERIFY = """
openssl enc -d -A -base64 -in signature.txt -out signature.sha1
openssl dgst -sha256 -verify public.pem -signature signature.sha1 canonical.json
"""

CANONICAL = jcs(
    {
        "Header": {"From": "any-sender.com", "To": "any-receiver.com", "Subject": "AnyMethod", "DKIM": "pk1"},
        "Body": {"Zahl": 1e21, "Größe": "🤝", "\ufb33": [1.0, None, True]},
    }
)


def run(commands: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", "-ec", commands], cwd=folder, capture_output=True, text=True, timeout=PATIENCE, check=False
    )


def public_pem(key: PublicKey) -> bytes:
    return load_der_public_key(key.spki()).public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "canonical.json").write_bytes(CANONICAL)
    return tmp_path


def test_the_hash_of_openssl_is_ours(folder: Path) -> None:
    done = run(HASH, folder)
    assert done.returncode == 0, done.stderr
    # OpenSSL 3 writes "SHA2-256(stdin)= ", older ones "(stdin)= ", before the hash.
    assert done.stdout.rpartition("= ")[2] == hashlib.sha256(CANONICAL).hexdigest()


def test_we_accept_a_signature_of_openssl(folder: Path) -> None:
    key = PrivateKey.generate("rsa")
    (folder / "private.pem").write_bytes(key.to_pem())
    done = run(SIGN, folder)
    assert done.returncode == 0, done.stderr
    signature = b64decode(done.stdout, validate=True)
    assert key.public.verify(signature, CANONICAL)
    assert signature == key.sign(CANONICAL)


def test_openssl_accepts_our_signature(folder: Path) -> None:
    key = PrivateKey.generate("rsa")
    (folder / "public.pem").write_bytes(public_pem(key.public))
    (folder / "signature.txt").write_bytes(b64encode(key.sign(CANONICAL)))
    done = run(VERIFY, folder)
    assert (done.returncode, done.stdout) == (0, "Verified OK\n"), done.stderr


def test_openssl_refuses_our_signature_of_another_text(folder: Path) -> None:
    key = PrivateKey.generate("rsa")
    (folder / "public.pem").write_bytes(public_pem(key.public))
    (folder / "signature.txt").write_bytes(b64encode(key.sign(CANONICAL + b" ")))
    done = run(VERIFY, folder)
    assert done.returncode != 0
    assert "Verified OK" not in done.stdout


@pytest.mark.parametrize("kind", ["genrsa -out private.pem 2048", "genpkey -algorithm ed25519 -out private.pem"])
def test_a_key_that_openssl_made_signs_for_us(folder: Path, kind: str) -> None:
    done = run(f"openssl {kind}; openssl pkey -in private.pem -pubout -outform DER -out public.der", folder)
    assert done.returncode == 0, done.stderr
    key = PrivateKey.from_pem((folder / "private.pem").read_bytes())
    public = public_key_from_spki((folder / "public.der").read_bytes())
    assert key.public == public
    assert public.verify(key.sign(CANONICAL), CANONICAL)
