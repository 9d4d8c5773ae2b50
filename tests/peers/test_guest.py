import json
import socket
import subprocess

import pytest

from postroom.local.guest import run_guest
from postroom.local.zones import Mode


@pytest.fixture(scope="module", autouse=True)
def zones(fake_network):
    fake_network.tree.put("signed.example", "@ A 192.0.2.1\n@ A 192.0.2.2\nx TXT hello")
    fake_network.tree.put("bogus.example", "@ A 192.0.2.1", Mode.BOGUS)


def result(fake_network, expression, imports="socket"):
    """What an expression is worth in the guest."""
    return fake_network.run(f"import json, {imports}\nprint(json.dumps({expression}))")


def error(fake_network, statement, imports="socket"):
    """The last line of the traceback that a statement ends in."""
    ran = fake_network.attempt(f"import {imports}\n{statement}")
    assert ran.returncode == 1, ran.stdout
    return ran.stderr.strip().splitlines()[-1]


@pytest.mark.parametrize("server", ["1.1.1.1", "2606:4700:4700::1111"])
@pytest.mark.parametrize("tcp", [False, True])
def test_port_53_of_any_address_is_the_fake_dns(fake_network, server, tcp):
    if ":" in server and not _has_ipv6():
        pytest.skip("this machine has no IPv6")
    script = f"""
import dns.resolver
resolver = dns.resolver.Resolver(configure=False)
resolver.nameservers = [{server!r}]
print(resolver.resolve("x.signed.example", "TXT", tcp={tcp})[0])
"""
    assert fake_network.run(script) == "hello"


def _has_ipv6():
    # What counts is whether the kernel has such sockets at all, not whether there is a route.
    try:
        socket.socket(socket.AF_INET6).close()
    except OSError:
        return False
    return True


def test_the_systems_resolver_is_the_fake_dns(fake_network):
    resolver = "dns.resolver.Resolver()"
    assert result(fake_network, f"[str(n) for n in {resolver}.nameservers]", "dns.resolver") == ["127.0.0.1"]
    assert (
        result(fake_network, f"{resolver}.resolve('x.signed.example', 'TXT')[0].to_text()", "dns.resolver") == '"hello"'
    )
    assert result(fake_network, "open('/etc/resolv.conf').read()") == "nameserver 127.0.0.1\n"
    assert result(fake_network, "list(open('/etc/resolv.conf', 'rb').read())") == list(b"nameserver 127.0.0.1\n")


def test_names_have_the_addresses_of_the_fake_dns(fake_network):
    addresses = "sorted({entry[4][0] for entry in socket.getaddrinfo(NAME, 443)})"
    assert result(fake_network, addresses.replace("NAME", "'signed.example'")) == ["192.0.2.1", "192.0.2.2"]
    assert result(fake_network, addresses.replace("NAME", "b'localhost'")) == ["127.0.0.1"]
    assert result(fake_network, addresses.replace("NAME", "'::1'")) == ["::1"]


@pytest.mark.parametrize(
    ("name", "number"),
    [("nobody.example", "EAI_NONAME"), (f"{'x' * 64}.example", "EAI_NONAME"), ("bogus.example", "EAI_AGAIN")],
)
def test_a_name_without_an_address_in_the_fake_dns_has_none(fake_network, name, number):
    script = f"""
import socket
try:
    socket.getaddrinfo({name!r}, 443)
except socket.gaierror as error:
    print(int(error.errno == socket.{number}))
"""
    assert fake_network.run(script) == 1


CONNECTING = {
    "create_connection": """
import socket
peer = socket.create_connection(("pw.receiver.example", 443)).getpeername()
""",
    "connect_ex": """
import socket
sock = socket.socket()
sock.connect_ex(("198.51.100.9", 443))
peer = sock.getpeername()
""",
    "asyncio": """
import asyncio
async def connect():
    _, writer = await asyncio.open_connection("pw.receiver.example", 443)
    return writer.get_extra_info("peername")
peer = asyncio.run(connect())
""",
    "a class derived from socket": """
import socket, ssl
sock = ssl.create_default_context().wrap_socket(socket.socket(), server_hostname="pw.receiver.example")
sock.connect(("pw.receiver.example", 443))
peer = sock.getpeername()
""",
}


@pytest.mark.parametrize("way", CONNECTING)
def test_port_443_of_any_address_is_the_recording_inbox(fake_network, way):
    assert fake_network.run(CONNECTING[way] + "\nprint(peer[1])") == fake_network.inbox.server_port


def test_only_the_test_ca_is_trusted(fake_network):
    assert result(fake_network, "len(ssl.create_default_context().get_ca_certs())", "ssl") == 1
    said = error(fake_network, "urllib.request.urlopen('https://signed.example/')", "urllib.request")
    assert "CERTIFICATE_VERIFY_FAILED" in said  # the inbox has a certificate for another host


@pytest.mark.parametrize(
    "attempt",
    [
        "socket.create_connection(('signed.example', 80))",
        "socket.create_connection(('192.0.2.1', 8443))",
        "socket.socket().connect(('signed.example', 80))",
        "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'', ('192.0.2.1', 443))",
        "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendmsg([b''], [], 0, ('192.0.2.1', 53))",
        "__import__('_socket').socket().connect(('192.0.2.1', 443))",
        "socket.socket(socket.AF_UNIX).connect('/run/anything')",
    ],
)
def test_only_loopback_can_be_reached(fake_network, attempt):
    said = error(fake_network, attempt)
    assert said.startswith("PermissionError")
    assert "it is kept on loopback" in said


@pytest.mark.parametrize(
    "attempt",
    [
        "socket.gethostbyname('signed.example')",
        "socket.gethostbyaddr('192.0.2.1')",
        "socket.getnameinfo(('192.0.2.1', 443), 0)",
        "__import__('_socket').getaddrinfo('signed.example', 443)",
    ],
)
def test_no_name_is_looked_up_elsewhere(fake_network, attempt):
    assert error(fake_network, attempt).startswith("PermissionError")


@pytest.mark.parametrize(
    "attempt", ["os.system('true')", "os.execv('/bin/true', ['true'])", "subprocess.run(['true'])"]
)
def test_no_process_without_these_restrictions_can_be_started(fake_network, attempt):
    assert error(fake_network, attempt, "os, subprocess").startswith("PermissionError")


def test_a_forked_child_has_the_same_restrictions(fake_network):
    script = """
import os, socket
if os.fork() == 0:
    try:
        socket.create_connection(("192.0.2.1", 80))
    except PermissionError:
        os._exit(7)
    os._exit(0)
print(os.waitstatus_to_exitcode(os.wait()[1]))
"""
    assert fake_network.run(script) == 7


def test_loopback_can_be_reached(fake_network):
    assert result(
        fake_network, f"socket.create_connection(('localhost', {fake_network.inbox.server_port})).getpeername()[1]"
    )


def test_a_program_has_the_usual_name_and_arguments(fake_network, tmp_path):
    (tmp_path / "beside.py").write_text("value = 'imported'")
    script = tmp_path / "program.py"
    script.write_text(
        "import beside, json, os, sys\n"
        "print(json.dumps([__name__, sys.argv, beside.value, sys.stdin.read(), sorted(os.environ)]))\n"
        "sys.exit(3)"
    )
    ran = run_guest(script, "--dns", "-x", "two words", **fake_network.where, stdin="é")
    assert ran.returncode == 3
    name, argv, beside, stdin, environment = json.loads(ran.stdout)
    assert (name, argv, beside, stdin) == ("__main__", [str(script), "--dns", "-x", "two words"], "imported", "é")
    assert not [name for name in environment if "PROXY" in name.upper() or name.startswith("AWS")]


def test_a_program_that_does_not_end_is_killed(fake_network):
    with pytest.raises(subprocess.TimeoutExpired):
        run_guest("while True: pass", **fake_network.where, seconds=0.5)


def test_a_dns_server_elsewhere_is_refused(fake_network):
    ran = run_guest("", **{**fake_network.where, "dns_address": "192.0.2.1:53"})
    assert ran.returncode == 2
    assert "'192.0.2.1:53' is not 127.0.0.1:PORT" in ran.stderr
