"""A local certificate authority: valid certificates for any host, for clients that trust it."""

import ssl
from pathlib import Path

import trustme


class Authority:
    """The CA in `directory`: `ca.pem` (to be trusted) and `ca.key`; created if it does not exist."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.pem = directory / "ca.pem"
        key = directory / "ca.key"
        if self.pem.exists() and key.exists():
            self._ca = trustme.CA.from_pem(self.pem.read_bytes(), key.read_bytes())
        else:
            self._ca = trustme.CA(organization_name="postroom", organization_unit_name="local stack")
            key.touch(mode=0o600)
            key.write_bytes(self._ca.private_key_pem.bytes())
            self.pem.write_bytes(self._ca.cert_pem.bytes())

    def server_context(self, *names: str) -> ssl.SSLContext:
        """Return a server's TLS context with a certificate for these host names and addresses; HTTP/1.1 and 2."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.set_alpn_protocols(["h2", "http/1.1"])
        self._ca.issue_cert(*names).configure_cert(context)
        return context

    def client_context(self) -> ssl.SSLContext:
        """Return a client's TLS context that trusts this CA and no other."""
        return ssl.create_default_context(cafile=str(self.pem))
