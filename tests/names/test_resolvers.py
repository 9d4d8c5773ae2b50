import contextlib
import ssl
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

import dns.message
import dns.name
import dns.rcode
import pytest
import trustme
from dns.rdatatype import TXT

from postroom.errors import NotNowError
from postroom.names.dns import Question, Resolvers
from postroom.reasons import Reason

QUESTION = Question(dns.name.from_text("pk1._domainkey.sender.example"), TXT)


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def texts(message):
    return [b"".join(record.strings) for rrset in message.answer if rrset.rdtype == TXT for record in rrset]


@pytest.mark.parametrize("scheme", ["udp", "tcp"])
def test_an_answer_comes_with_its_signatures(server, scheme):
    with Resolvers(f"{scheme}://{server.address}") as resolvers:
        message = resolvers.asking()(QUESTION)
    assert texts(message) == [b"v=DKIM1; k=ed25519; p=abc"]
    assert [rrset.rdtype.name for rrset in message.answer] == ["TXT", "RRSIG"]


def test_an_answer_too_large_for_udp_is_fetched_over_tcp(server, tree, ask):
    strings = [letter * 255 for letter in "abcde"]
    tree.put("sender.example", f"pk1._domainkey TXT {' '.join(strings)}")
    assert texts(ask(QUESTION)) == ["".join(strings).encode()]
    # Once over UDP, truncated, and once more over TCP.
    assert server.asked["pk1._domainkey.sender.example.", "TXT"] == 2


@pytest.mark.parametrize("rcode", [dns.rcode.SERVFAIL, dns.rcode.REFUSED])
def test_after_a_failure_the_next_resolver_is_asked(server, serve, answers_with, rcode):
    broken = serve("udp", answers_with(rcode))
    with Resolvers(f"{broken},{server.address}") as resolvers:
        assert texts(resolvers.asking()(QUESTION))


def test_after_a_closed_port_the_next_resolver_is_asked(server):
    with Resolvers(f"tcp://127.0.0.1:1,udp://127.0.0.1:1,{server.address}") as resolvers:
        assert texts(resolvers.asking()(QUESTION))


@pytest.mark.parametrize("reply", [b"", b"garbage", b"\0" * 12])
def test_after_a_malformed_answer_the_next_resolver_is_asked(server, serve, reply):
    broken = serve("tcp", lambda _wire: reply)
    with Resolvers(f"{broken},{server.address}") as resolvers:
        assert texts(resolvers.asking()(QUESTION))


def test_forged_datagrams_do_not_end_the_wait_for_the_true_answer(server, serve):
    # The first datagram is from a guesser of ids; the query is sent again and then truly answered.
    calls = []

    def guess_then_answer(wire):
        calls.append(wire)
        if len(calls) == 1:
            return bytes([wire[0] ^ 1]) + server.reply(wire, udp=True)[1:]
        return server.reply(wire, udp=True)

    with Resolvers(serve("udp", guess_then_answer), try_seconds=3) as resolvers:
        assert texts(resolvers.asking()(QUESTION))


def test_when_nobody_answers_the_look_up_waits(serve, answers_with):
    settings = f"{serve('udp', answers_with(dns.rcode.SERVFAIL))},tcp://127.0.0.1:1"
    with Resolvers(settings) as resolvers, pytest.raises(NotNowError) as caught:
        resolvers.asking()(QUESTION)
    assert caught.value.reason is Reason.KEY_LOOKUP_FAILED
    assert "SERVFAIL; not reachable" in caught.value.detail


def test_the_detail_does_not_tell_which_resolvers_we_ask():
    with Resolvers("tcp://127.0.0.1:1") as resolvers, pytest.raises(NotNowError) as caught:
        resolvers.asking()(QUESTION)
    assert "127.0.0.1" not in caught.value.detail


def test_silence_ends_with_the_time_of_a_try(server):
    server.pause()
    with Resolvers(server.address, try_seconds=0.2) as resolvers:
        with pytest.raises(NotNowError, match="timed out"):
            resolvers.asking()(QUESTION)
        server.resume()
        assert texts(resolvers.asking()(QUESTION))


def test_a_silent_server_leaves_time_for_the_next(server, serve):
    silent = serve("udp", lambda _wire: None)
    with Resolvers(f"{silent},{server.address}", try_seconds=0.3, budget_seconds=5) as resolvers:
        assert texts(resolvers.asking()(QUESTION))


def test_all_questions_of_one_look_up_share_one_budget(server):
    clock = Clock()
    with Resolvers(server.address, budget_seconds=3, clock=clock) as resolvers:
        ask = resolvers.asking()
        assert texts(ask(QUESTION))
        clock.now = 3
        with pytest.raises(NotNowError, match="out of time"):
            ask(QUESTION)
        assert texts(resolvers.asking()(QUESTION))


def test_a_server_that_failed_lately_is_asked_last(server, serve, answers_with):
    clock, asked = Clock(), []
    refuse = answers_with(dns.rcode.REFUSED)
    broken = serve("udp", lambda wire: asked.append(wire) or refuse(wire))
    with Resolvers(f"{broken},{server.address}", back_off_seconds=30, clock=clock) as resolvers:
        for _ in range(3):
            resolvers.asking()(QUESTION)
        assert len(asked) == 1
        clock.now = 31
        resolvers.asking()(QUESTION)
        assert len(asked) == 2


@pytest.fixture
def doh(server):
    """A DNS over HTTPS front to the real server; `status` and `body` may be spoiled, the head come in `drips`."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def setup(self):
            front.connections += 1
            super().setup()

        def do_POST(self):
            query = self.rfile.read(int(self.headers["content-length"]))
            assert self.headers["content-type"] == "application/dns-message"
            assert self.path == "/dns-query"
            body = front.body or server.reply(query, udp=False)
            self.send_response(front.status)
            self.send_header("content-length", str(len(body)))
            with contextlib.suppress(OSError):  # whoever asked may not wait for the end
                self.flush_headers()
                while front.drips > 0:
                    self.wfile.write(b"X-Drip: drip\r\n")
                    time.sleep(0.05)
                    front.drips -= 1
                self.end_headers()
                self.wfile.write(body)

        def log_message(self, *_):
            pass

    ca = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ca.issue_cert("localhost").configure_cert(context)
    front = HTTPServer(("127.0.0.1", 0), Handler)
    front.socket = context.wrap_socket(front.socket, server_side=True)
    front.status, front.body, front.drips, front.connections = 200, None, 0, 0
    front.setting = f"https://localhost:{front.server_address[1]}/dns-query"
    front.trust = ssl.create_default_context()
    ca.configure_trust(front.trust)
    thread = threading.Thread(target=front.serve_forever, args=(0.01,))
    thread.start()
    yield front
    front.shutdown()
    thread.join()
    front.server_close()


def test_a_resolver_may_speak_https(doh):
    with Resolvers(doh.setting, ssl_context=doh.trust) as resolvers:
        assert texts(resolvers.asking()(QUESTION)) == [b"v=DKIM1; k=ed25519; p=abc"]


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (503, None, "HTTP status 503"),
        (200, b"<html>", "malformed"),
        (200, b"x" * 70_000, "more than 65535 bytes"),
    ],
)
def test_a_bad_https_answer_is_no_answer(doh, status, body, said):
    doh.status, doh.body = status, body
    with (
        Resolvers(doh.setting, ssl_context=doh.trust) as resolvers,
        pytest.raises(NotNowError, match=said),
    ):
        resolvers.asking()(QUESTION)


def test_an_answer_that_drips_over_https_ends_with_the_time_of_a_try(doh):
    doh.drips = 100
    with Resolvers(doh.setting, ssl_context=doh.trust, try_seconds=0.3) as resolvers:
        with pytest.raises(NotNowError, match="timed out"):
            resolvers.asking()(QUESTION)
        assert doh.drips > 0
        doh.drips = 0
        assert texts(resolvers.asking()(QUESTION))


def test_a_connection_to_an_https_resolver_is_kept_and_each_question_has_a_time_of_its_own(doh):
    with Resolvers(doh.setting, ssl_context=doh.trust, try_seconds=2) as resolvers:
        assert texts(resolvers.asking()(QUESTION))
        time.sleep(2.1)
        assert texts(resolvers.asking()(QUESTION))
    assert doh.connections == 1


def test_an_https_resolver_with_an_unknown_certificate_is_not_believed(doh):
    with Resolvers(doh.setting) as resolvers, pytest.raises(NotNowError, match="not reachable"):
        resolvers.asking()(QUESTION)
