"""Look-ups of a host's certificate, including a rejected one."""

import socket
import ssl
import warnings
from collections.abc import Sequence
from typing import Final

from cryptography import x509
from cryptography.utils import CryptographyDeprecationWarning

from postroom.core.errors import NotNowError
from postroom.core.reasons import OUTBOUND_FAILED
from postroom.doctor.expiry import Term
from postroom.doctor.host import Believed, Certificate, CertificateFacts, NotBelieved, NoTls
from postroom.net.https import MAX_ADDRESSES

SECONDS: Final = 5.0
"""For connecting, and for the handshake, at each address."""


def look_at_certificate(host: str, addresses: Sequence[str], port: int, ca_file: str | None) -> Certificate:
    """The certificate for `host` at the first of its addresses that accepts a connection.

    `ca_file` (PEM) replaces the system's certificate authorities. Raises NotNowError(OUTBOUND_FAILED) if none answers
    in time.
    """
    believing = ssl.create_default_context(cafile=ca_file)
    refused = failed = ""
    for address in addresses[:MAX_ADDRESSES]:
        try:
            return _look(believing, host, address, port)
        except ConnectionRefusedError:
            refused = f"nothing listens at {address}, port {port}"
        except ssl.SSLEOFError:
            failed = f"the connection to {address}, port {port}, was closed"
        except ssl.SSLError as error:
            return NoTls(f"no TLS with {address}, port {port}: {error.reason or 'it failed'}")
        except TimeoutError:
            failed = f"{address}, port {port}, did not answer in time"
        except OSError as error:
            failed = f"no connection to {address}, port {port}: {error.strerror or 'it broke'}"
    if failed:
        raise NotNowError(OUTBOUND_FAILED, failed)
    return NoTls(refused)


def _look(believing: ssl.SSLContext, host: str, address: str, port: int) -> Believed | NotBelieved:
    try:
        with _connect(believing, host, address, port) as tls:
            certificate = tls.getpeercert() or {}
    except ssl.SSLCertVerificationError as error:
        return NotBelieved(error.verify_code, error.verify_message, _shown(host, address, port))
    begins, ends = (ssl.cert_time_to_seconds(str(certificate[name])) for name in ("notBefore", "notAfter"))
    return Believed(Term(begins, ends))


def _shown(host: str, address: str, port: int) -> CertificateFacts | None:
    """The content of a certificate that is not trusted; None if it is not sent a second time, or cannot be read."""
    curious = ssl.create_default_context()
    curious.check_hostname = False
    # Only read: the connection is closed before anything is sent.
    curious.verify_mode = ssl.CERT_NONE
    try:
        with _connect(curious, host, address, port) as tls:
            return read_certificate(tls.getpeercert(binary_form=True) or b"")
    except OSError:
        return None


def read_certificate(der: bytes) -> CertificateFacts | None:
    """The names and the validity of a stranger's certificate (X.509 in DER); None: it cannot be read."""
    try:
        # The library warns of what a later release will refuse to read; the user cannot do anything about that.
        with warnings.catch_warnings(action="ignore", category=CryptographyDeprecationWarning):
            found = x509.load_der_x509_certificate(der)
        term = Term(found.not_valid_before_utc.timestamp(), found.not_valid_after_utc.timestamp())
        names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return CertificateFacts((), term)
    except (ValueError, x509.InvalidVersion, x509.DuplicateExtension, x509.UnsupportedGeneralNameType):
        return None
    return CertificateFacts(tuple(names.get_values_for_type(x509.DNSName)), term)


def _connect(context: ssl.SSLContext, host: str, address: str, port: int) -> ssl.SSLSocket:
    plain = socket.create_connection((address, port), SECONDS)
    try:
        return context.wrap_socket(plain, server_hostname=host)
    except BaseException:
        plain.close()
        raise
