"""Reading strangers' certificates: whatever their bytes, there is an answer. Real hosts: tests/cli/test_doctor.py."""

import ssl
from datetime import UTC, datetime

import trustme
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding
from hypothesis import given
from hypothesis import strategies as st

from postroom.doctor.expiry import Term
from postroom.doctor.host import CertificateFacts
from postroom.doctor.tls import read_certificate

BEGINS, ENDS = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 4, 1, tzinfo=UTC)
TERM = Term(BEGINS.timestamp(), ENDS.timestamp())
ISSUED = trustme.CA().issue_cert("shop.example", "*.shop.example", "127.0.0.1", not_before=BEGINS, not_after=ENDS)
DER = ssl.PEM_cert_to_DER_cert(ISSUED.cert_chain_pems[0].bytes().decode())


def test_names_and_times_are_read() -> None:
    assert read_certificate(DER) == CertificateFacts(("shop.example", "*.shop.example"), TERM)


def test_a_certificate_without_names_has_none() -> None:
    name, key = x509.Name([]), Ed25519PrivateKey.generate()
    builder = x509.CertificateBuilder(name, name, key.public_key(), 1, BEGINS, ENDS)
    assert read_certificate(builder.sign(key, None).public_bytes(Encoding.DER)) == CertificateFacts((), TERM)


def test_a_certificate_that_newer_libraries_refuse_is_read_without_a_warning() -> None:
    serial = DER.index(x509.load_der_x509_certificate(DER).serial_number.to_bytes(20).lstrip(b"\0"))
    negative = DER[:serial] + b"\x80" + DER[serial + 1 :]
    assert read_certificate(negative) == CertificateFacts(("shop.example", "*.shop.example"), TERM)


@given(st.binary(max_size=60) | st.tuples(st.integers(0, len(DER) - 1), st.binary(min_size=1, max_size=4)).map(
    lambda change: DER[: change[0]] + change[1] + DER[change[0] + len(change[1]) :]
))  # fmt: skip
def test_any_bytes_are_read_or_refused(der: bytes) -> None:
    assert isinstance(read_certificate(der), CertificateFacts | None)
