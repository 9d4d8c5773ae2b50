"""Running an unmodified Python program against the local DNS server and the local TLS edge.

    python -m postroom.local.guest --dns HOST:PORT --https PORT --ca FILE -- SCRIPT.py ARGUMENTS...

For the program, port 53 of any address is the local DNS server, host names have the addresses of their A records, port
443 of any address is the edge, and OpenSSL trusts the CA in FILE. This is done below the packages that it uses, in the
`socket` module and the environment of its process; none of the packages is changed.

Only the loopback can be reached. An audit hook (PEP 578: it sees every call, and cannot be removed) refuses all other
addresses, and new processes. This is enough for a program without bad intent; the hook does not see native code.
"""

import argparse
import builtins
import errno
import io
import ipaddress
import os
import runpy
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import IO, Any, NamedTuple
from weakref import WeakKeyDictionary

import dns.exception
import dns.message
import dns.query
import dns.rcode
from dns.rdatatype import A

from postroom.local.patience import PATIENCE_SECONDS

LOOPBACK = "127.0.0.1"
RESOLV_CONF = "/etc/resolv.conf"
_DNS_PORT, _HTTPS_PORT = 53, 443
_PACKAGES = Path(__file__).parents[2]

_CONNECTS = ("socket.connect", "socket.sendto", "socket.sendmsg")
_LOOKS_UP = ("socket.getaddrinfo", "socket.gethostbyname")
_LOOKS_BACK = ("socket.gethostbyaddr", "socket.getnameinfo")
_STARTS = ("subprocess.Popen", "os.exec", "os.posix_spawn", "os.spawn", "os.startfile", "os.system")

_plain = socket.SocketType
_plain_getaddrinfo = socket.getaddrinfo
_plain_open = io.open


class GuestNetwork(NamedTuple):
    """The local network: `dns_port` (UDP and TCP) and `https_port`, both of 127.0.0.1."""

    dns_port: int
    https_port: int


def run_guest(
    script: str | Path,
    *arguments: str,
    dns_address: str,
    https_port: int,
    ca: Path,
    stdin: str = "",
    seconds: float = PATIENCE_SECONDS,
) -> subprocess.CompletedProcess[str]:
    """Run a program (its text, or the path of its file) in a process of its own, with a clean environment.

    `dns_address`: `127.0.0.1:PORT`. Raises `subprocess.TimeoutExpired`.
    """
    with tempfile.TemporaryDirectory() as folder:
        if isinstance(script, str):
            path = Path(folder) / "guest.py"
            path.write_text(script, encoding="utf-8")
        else:
            path = script.absolute()
        network = ("--dns", dns_address, "--https", str(https_port), "--ca", str(ca.absolute()))
        return subprocess.run(  # noqa: S603 - our own interpreter
            [sys.executable, "-m", "postroom.local.guest", *network, "--", str(path), *arguments],
            env={"PATH": os.defpath, "PYTHONPATH": str(_PACKAGES), "PYTHONUTF8": "1"},
            cwd=folder,
            input=stdin,
            capture_output=True,
            encoding="utf-8",
            timeout=seconds,
            check=False,
        )


def enter(network: GuestNetwork, ca: Path) -> None:
    """Make this process, for the rest of its life, one that lives in `network`."""
    os.environ["SSL_CERT_FILE"], os.environ["SSL_CERT_DIR"] = str(ca), os.devnull
    _redirect_sockets(network)
    _redirect_names(network)
    _redirect_resolver_configuration()
    sys.addaudithook(_refuse)


def _redirect_sockets(network: GuestNetwork) -> None:
    addressed_to: WeakKeyDictionary[socket.socket, Any] = WeakKeyDictionary()

    def turned(sock: socket.socket, address: Any) -> Any:
        if sock.family not in (socket.AF_INET, socket.AF_INET6):
            return address
        host, port = address[:2]
        if port == _DNS_PORT:
            port = network.dns_port
        elif port == _HTTPS_PORT and sock.type == socket.SOCK_STREAM:
            port = network.https_port
        elif _ip(host) is None:
            return socket.getaddrinfo(host, port, sock.family)[0][4]
        else:
            return address
        return (LOOPBACK if sock.family == socket.AF_INET else f"::ffff:{LOOPBACK}", port)

    def connect(sock: socket.socket, address: Any) -> None:
        _plain.connect(sock, turned(sock, address))

    def connect_ex(sock: socket.socket, address: Any) -> int:
        code: int = _plain.connect_ex(sock, turned(sock, address))
        return code

    def sendto(sock: socket.socket, data: Any, *flags_and_address: Any) -> int:
        *flags, address = flags_and_address
        target = turned(sock, address)
        if target[1] == network.dns_port:
            addressed_to[sock] = address
        return _plain.sendto(sock, data, flags[0] if flags else 0, target)

    def recvfrom(sock: socket.socket, *size_and_flags: int) -> tuple[bytes, Any]:
        data, sender = _plain.recvfrom(sock, *size_and_flags)
        # A program that asked 1.1.1.1 accepts no answer from another address.
        return data, addressed_to[sock] if sock in addressed_to and sender[1] == network.dns_port else sender

    # On the class itself: ssl.SSLSocket and others derive from it, perhaps already.
    for method in (connect, connect_ex, sendto, recvfrom):
        setattr(socket.socket, method.__name__, method)


def _redirect_names(network: GuestNetwork) -> None:
    def getaddrinfo(
        host: Any,
        port: Any,
        family: int = 0,
        type: int = 0,  # noqa: A002 - as it is called
        proto: int = 0,
        flags: int = 0,
    ) -> list[Any]:
        name = host.decode() if isinstance(host, bytes) else host
        numeric = not name or _ip(name) or flags & socket.AI_NUMERICHOST
        addresses = [name] if numeric else look_up(name)
        return [e for a in addresses for e in _plain_getaddrinfo(a, port, family, type, proto, flags)]

    def look_up(name: str) -> list[str]:
        if name.rstrip(".").lower() == "localhost":
            return [LOOPBACK]
        try:
            query = dns.message.make_query(name, A)
            said, _ = dns.query.udp_with_fallback(query, LOOPBACK, PATIENCE_SECONDS, network.dns_port)
        except dns.exception.Timeout as error:
            raise socket.gaierror(socket.EAI_AGAIN, f"no answer from the stack's DNS about {name}") from error
        except dns.exception.DNSException as error:
            raise socket.gaierror(socket.EAI_NONAME, f"{name} cannot be asked for: {error}") from error
        if said.rcode() not in (dns.rcode.NOERROR, dns.rcode.NXDOMAIN):
            rcode = dns.rcode.to_text(said.rcode())
            raise socket.gaierror(socket.EAI_AGAIN, f"the stack's DNS answers {rcode} about {name}")
        addresses = [record.to_text() for rrset in said.answer if rrset.rdtype == A for record in rrset]
        if not addresses:
            raise socket.gaierror(socket.EAI_NONAME, f"{name} has no address in the stack")
        return addresses

    setattr(socket, "getaddrinfo", getaddrinfo)  # noqa: B010 - to the type checker it is a constant


def _redirect_resolver_configuration() -> None:
    text = f"nameserver {LOOPBACK}\n"

    def open_(file: Any, mode: str = "r", *args: Any, **kwargs: Any) -> IO[Any]:
        if file != RESOLV_CONF:
            return _plain_open(file, mode, *args, **kwargs)
        return io.BytesIO(text.encode()) if "b" in mode else io.StringIO(text)

    for module in (builtins, io):
        setattr(module, "open", open_)  # noqa: B010 - to the type checker it is a constant


def _refuse(event: str, args: tuple[Any, ...]) -> None:
    """Raise PermissionError for everything that would leave the loopback: the audit hook."""
    if event in _CONNECTS:
        # None: a message to the peer of a connected socket, which was checked before.
        fine, what = args[1] is None or _is_loopback(args[1]), f"reach {args[1]!r}"
    elif event in _LOOKS_UP:
        fine, what = not args[0] or _ip(args[0]) is not None, f"look up {args[0]!r} elsewhere than in the stack's DNS"
    elif event in _LOOKS_BACK:
        fine, what = _is_loopback(args[0] if isinstance(args[0], tuple) else args), f"look up {args[0]!r}"
    elif event in _STARTS:
        fine, what = False, f"start the process {args[0]!r}"
    else:
        return
    if not fine:
        raise PermissionError(errno.EACCES, f"a guest of the stack may not {what}: it is kept on loopback")


def _is_loopback(address: Any) -> bool:
    ip = _ip(address[0]) if isinstance(address, tuple) else None
    mapped = ip.ipv4_mapped if isinstance(ip, ipaddress.IPv6Address) else None
    return ip is not None and (mapped or ip).is_loopback


def _ip(host: Any) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host) if isinstance(host, str) else None
    except ValueError:
        return None


def _dns_port(text: str) -> int:
    host, _, port = text.rpartition(":")
    if host != LOOPBACK or not port.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not {LOOPBACK}:PORT")
    return int(port)


def main(arguments: list[str]) -> None:
    """Run the program as `python SCRIPT.py ARGUMENTS...` would."""
    parser = argparse.ArgumentParser(
        "python -m postroom.local.guest", description="Run a Python program inside a local stack."
    )
    parser.add_argument("--dns", type=_dns_port, required=True, metavar="HOST:PORT", help="the local DNS server")
    parser.add_argument("--https", type=int, required=True, metavar="PORT", help="the local TLS edge")
    parser.add_argument("--ca", type=Path, required=True, metavar="FILE", help="the CA to trust (PEM)")
    parser.add_argument("script")
    parser.add_argument("arguments", nargs="*")
    said = parser.parse_args(arguments)
    enter(GuestNetwork(said.dns, said.https), said.ca)
    sys.argv = [said.script, *said.arguments]
    sys.path[0] = str(Path(said.script).absolute().parent)
    runpy.run_path(said.script, run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1:])
