import contextlib
import ssl
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler
from types import SimpleNamespace

import dns.message
import dns.name
import dns.rcode
import dns.rrset
import pytest
import trustme
from dns.rdatatype import NSEC, NSEC3, RRSIG, TXT
from tests.fakes.clock import FakeClock
from tests.fakes.servers import LoopbackServer, running_server
from tests.names.patience import patient
from tests.patience import PATIENCE

from postroom.core.errors import NotNowError
from postroom.names.dns import AskAnotherResolver, Question, transport
from postroom.names.dns.wire import EDNS_PAYLOAD, MAX_ANSWER_BYTES, make_query
from postroom.names.dnssec import Bogus, validate
from postroom.net import timed
from postroom.protocols.nlweb.reasons import DNSSEC_TOO_COSTLY, KEY_LOOKUP_FAILED

QUESTION = Question(dns.name.from_text("pk1._domainkey.sender.example"), TXT)


def texts(answer):
    return [b"".join(record.strings) for record in answer.answer.find(QUESTION.name, TXT).read()]


def txt(length):
    """A TXT record of this number of bytes: strings of 255 bytes, each after its length."""
    return " ".join(f'"{"x" * (min(256, length - start) - 1)}"' for start in range(0, length, 256))


@pytest.mark.parametrize("scheme", ["udp", "tcp"])
def test_an_answer_comes_with_its_signatures(server, scheme):
    with patient(f"{scheme}://{server.address}") as resolvers:
        answer = resolvers.asking()(QUESTION)
    assert texts(answer) == [b"v=DKIM1; k=ed25519; p=abc"]
    assert len(answer.answer.signatures(QUESTION.name, TXT).read()) == 1


@pytest.mark.parametrize(("size", "times"), [(EDNS_PAYLOAD, 1), (EDNS_PAYLOAD + 1, 2)])
def test_an_answer_too_large_for_udp_is_fetched_over_tcp(server, tree, ask, size, times):
    def answer_with(length):
        tree.put("sender.example", f"pk1._domainkey TXT {txt(length)}")
        return server.reply(make_query(QUESTION).to_wire(), udp=False)

    assert len(answer_with(1000 + size - len(answer_with(1000)))) == size
    server.queries.clear()
    [text] = texts(ask(QUESTION))
    assert len(text) > 1000
    # Once over UDP; where that was truncated, once more over TCP.
    assert server.queries["pk1._domainkey.sender.example.", "TXT"] == times


@pytest.mark.parametrize("rcode", [dns.rcode.SERVFAIL, dns.rcode.REFUSED])
def test_after_a_failure_the_next_resolver_is_tried(server, serve, answers_with, rcode):
    broken = serve("udp", answers_with(rcode))
    with patient(f"{broken},{server.address}") as resolvers:
        assert texts(resolvers.asking()(QUESTION))


def test_after_a_closed_port_the_next_resolver_is_tried(server):
    with patient(f"tcp://127.0.0.1:1,udp://127.0.0.1:1,{server.address}") as resolvers:
        assert texts(resolvers.asking()(QUESTION))


def test_a_repeated_question_goes_first_to_a_resolver_that_has_not_answered_it(server, serve):
    again = AskAnotherResolver(*QUESTION)
    asked = []

    def count(wire):
        asked.append(wire)
        return server.reply(wire, udp=True)

    with patient(f"{server.address},{serve('udp', count)}") as resolvers:
        ask = resolvers.asking()
        assert texts(ask(QUESTION))
        assert not asked
        for times in (1, 2):
            assert texts(ask(again))
            assert len(asked) == times
        assert texts(resolvers.asking()(QUESTION))
        assert len(asked) == 2
    with patient(server.address) as resolvers:
        ask = resolvers.asking()
        assert texts(ask(QUESTION))
        assert texts(ask(again)), "who has no other asks the same one"


@pytest.mark.parametrize("reply", [b"", b"garbage", b"\0" * 12])
def test_after_a_malformed_answer_the_next_resolver_is_tried(server, serve, reply):
    broken = serve("tcp", lambda _wire: reply)
    with patient(f"{broken},{server.address}") as resolvers:
        assert texts(resolvers.asking()(QUESTION))


def test_forged_datagrams_do_not_end_the_wait_for_the_true_answer(server, serve, monkeypatch):
    # A query is sent again after a second.
    monkeypatch.setattr(transport, "_UDP_SENDS", PATIENCE)
    # The first datagram is from a guesser of ids; the query is sent again and then truly answered.
    calls = []

    def guess_then_answer(wire):
        calls.append(wire)
        if len(calls) == 1:
            return bytes([wire[0] ^ 1]) + server.reply(wire, udp=True)[1:]
        return server.reply(wire, udp=True)

    with patient(serve("udp", guess_then_answer)) as resolvers:
        assert texts(resolvers.asking()(QUESTION))


def test_without_any_answer_the_look_up_is_a_temporary_error(serve, answers_with):
    settings = f"{serve('udp', answers_with(dns.rcode.SERVFAIL))},tcp://127.0.0.1:1"
    with patient(settings) as resolvers, pytest.raises(NotNowError) as caught:
        resolvers.asking()(QUESTION)
    assert caught.value.reason is KEY_LOOKUP_FAILED
    assert "SERVFAIL; not reachable" in caught.value.detail


def test_the_detail_does_not_name_our_resolvers():
    with patient("tcp://127.0.0.1:1") as resolvers, pytest.raises(NotNowError) as caught:
        resolvers.asking()(QUESTION)
    assert "127.0.0.1" not in caught.value.detail


def test_a_silent_resolver_is_left_after_the_time_of_a_try(server):
    server.pause()
    with patient(server.address, try_seconds=0.2) as resolvers:
        with pytest.raises(NotNowError, match="timed out"):
            resolvers.asking()(QUESTION)
        server.resume()
        assert in_the_end(resolvers)


def in_the_end(resolvers):
    """What is answered to one of many short tries: on a busy machine some of them end too soon."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return texts(resolvers.asking()(QUESTION))
        except NotNowError:
            assert time.monotonic() < deadline


@pytest.mark.parametrize(
    ("try_seconds", "answered_after", "next_is_asked"), [(PATIENCE, 0.5, False), (0.3, PATIENCE, True)]
)
def test_a_slow_resolver_is_left_after_the_time_of_a_try(server, serve, try_seconds, answered_after, next_is_asked):
    next_was_asked = threading.Event()

    def answer_late(wire):
        next_was_asked.wait(answered_after)
        return server.reply(wire, udp=False)

    def answer(wire):
        next_was_asked.set()
        return server.reply(wire, udp=False)

    setting = f"{serve('tcp', answer_late)},{serve('tcp', answer)}"
    with patient(setting, try_seconds=try_seconds) as resolvers:
        assert in_the_end(resolvers)
    assert next_was_asked.is_set() is next_is_asked


def test_all_questions_of_one_look_up_share_one_budget(server):
    clock = FakeClock(0.0)
    with patient(server.address, budget_seconds=5 * PATIENCE, clock=clock) as resolvers:
        ask = resolvers.asking()
        assert texts(ask(QUESTION))
        clock.now = 4 * PATIENCE
        assert texts(ask(QUESTION))
        clock.now = 5 * PATIENCE
        with pytest.raises(NotNowError, match="out of time") as caught:
            ask(QUESTION)
        assert caught.value.reason is KEY_LOOKUP_FAILED
        assert texts(resolvers.asking()(QUESTION))


def test_a_resolver_that_failed_recently_is_tried_last(server, serve, answers_with):
    clock, asked = FakeClock(0.0), []
    refuse = answers_with(dns.rcode.REFUSED)
    broken = serve("udp", lambda wire: asked.append(wire) or refuse(wire))
    with patient(f"{broken},{server.address}", back_off_seconds=30, clock=clock) as resolvers:
        for _ in range(3):
            resolvers.asking()(QUESTION)
        assert len(asked) == 1
        clock.now = 31
        resolvers.asking()(QUESTION)
        assert len(asked) == 2


@pytest.fixture
def doh(server):
    """A DNS over HTTPS front to the real server; `status` and `body` may be spoiled, its head drip for ever."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def setup(self):
            front.connections += 1
            super().setup()

        def do_POST(self):
            query = self.rfile.read(int(self.headers["content-length"]))
            assert self.headers["content-type"] == "application/dns-message"
            assert self.path == "/dns-query"
            body = front.body(query) if front.body else server.reply(query, udp=False)
            self.send_response(front.status)
            self.send_header("content-length", str(len(body)))
            with contextlib.suppress(OSError):  # whoever asked may not wait for the end
                self.flush_headers()
                while front.drips:
                    self.wfile.write(b"X-Drip: drip\r\n")
                    time.sleep(0.05)
                self.end_headers()
                self.wfile.write(body)

        def log_message(self, *_):
            pass

    ca = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ca.issue_cert("localhost").configure_cert(context)
    front = LoopbackServer(("127.0.0.1", 0), Handler)
    front.status, front.body, front.drips, front.connections = 200, None, False, 0
    front.setting = f"https://localhost:{front.server_address[1]}/dns-query"
    front.trust = ssl.create_default_context()
    ca.configure_trust(front.trust)
    with running_server(front, context):
        yield front


def test_a_resolver_may_speak_https(doh):
    with patient(doh.setting, ssl_context=doh.trust) as resolvers:
        assert texts(resolvers.asking()(QUESTION)) == [b"v=DKIM1; k=ed25519; p=abc"]


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (503, None, "HTTP status 503"),
        (200, b"<html>", "malformed"),
        (200, b"<html>" + b" " * MAX_ANSWER_BYTES, "a proxy, or something else that is not a DNS server"),
    ],
)
def test_an_invalid_https_answer_is_a_failed_look_up(doh, status, body, said):
    doh.status, doh.body = status, body and (lambda _query: body)
    with (
        patient(doh.setting, ssl_context=doh.trust) as resolvers,
        pytest.raises(NotNowError, match=said) as caught,
    ):
        resolvers.asking()(QUESTION)
    assert caught.value.reason is KEY_LOOKUP_FAILED


def test_a_long_https_answer_to_the_query_is_too_costly(doh, server):
    doh.body = lambda query: server.reply(query, udp=False) + b" " * MAX_ANSWER_BYTES
    with patient(doh.setting, ssl_context=doh.trust) as resolvers, pytest.raises(NotNowError) as caught:
        resolvers.asking()(QUESTION)
    assert caught.value.reason is DNSSEC_TOO_COSTLY
    assert f"more than {MAX_ANSWER_BYTES} bytes" in caught.value.detail


def as_long_as_may_be(query, beyond):
    """The bytes of an answer of so many bytes, and more."""

    def answer_with(length):
        response = dns.message.make_response(dns.message.from_wire(query))
        response.answer = [dns.rrset.from_text(QUESTION.name, 60, "IN", "TXT", txt(length))]
        return response.to_wire(max_size=65_535)

    wire = answer_with(1000 + MAX_ANSWER_BYTES + beyond - len(answer_with(1000)))
    assert len(wire) == MAX_ANSWER_BYTES + beyond
    return wire


@pytest.mark.parametrize(("beyond", "next_is_asked"), [(0, False), (1, True)])
@pytest.mark.parametrize("scheme", ["https", "tcp"])
def test_after_an_oversized_answer_the_next_resolver_is_tried(doh, serve, server, scheme, beyond, next_is_asked):
    doh.body = lambda query: as_long_as_may_be(query, beyond)
    setting = doh.setting if scheme == "https" else serve("tcp", doh.body)
    with patient(f"{setting},tcp://{server.address}", ssl_context=doh.trust) as resolvers:
        [found] = texts(resolvers.asking()(QUESTION))
    assert (found == b"v=DKIM1; k=ed25519; p=abc") is next_is_asked


def test_oversized_answers_from_all_resolvers_are_reported_and_do_not_mark_them_as_failed(serve, server):
    long = serve("tcp", lambda query: as_long_as_may_be(query, 1))
    asked = Counter()
    with patient(long) as resolvers:
        for _ in range(2):
            with pytest.raises(NotNowError, match=f"more than {MAX_ANSWER_BYTES} bytes") as caught:
                resolvers.asking()(QUESTION)
            asked[caught.value.reason] += 1
    assert asked == {DNSSEC_TOO_COSTLY: 2}


HTTP = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


@pytest.mark.parametrize("named", [True, False])
def test_a_proxy_on_the_port_of_a_resolver_is_not_an_answer_that_is_too_long(serve_bytes, named):
    setting = serve_bytes(HTTP)
    with patient(setting, named=named) as resolvers, pytest.raises(NotNowError) as caught:
        resolvers.asking()(QUESTION)
    assert caught.value.reason is KEY_LOOKUP_FAILED
    assert "a proxy, or something else that is not a DNS server, answers on its port" in caught.value.detail
    assert (setting in caught.value.detail) is named, "the names of a deployment's resolvers are private"


def test_behind_a_proxy_the_next_resolver_is_asked(serve_bytes, server):
    with patient(f"{serve_bytes(HTTP)},tcp://{server.address}") as resolvers:
        assert texts(resolvers.asking()(QUESTION)) == [b"v=DKIM1; k=ed25519; p=abc"]


def without_signatures(message):
    for section in (message.answer, message.authority):
        section[:] = [found for found in section if found.rdtype not in (RRSIG, NSEC, NSEC3)]


def without_records(message):
    message.answer.clear()
    message.authority.clear()


def without_the_name(message):
    without_records(message)
    message.set_rcode(dns.rcode.NXDOMAIN)


@pytest.mark.parametrize("change", [without_signatures, without_records, without_the_name])
def test_behind_a_resolver_that_removes_dnssec_not_even_the_anchors_keys_are_proven(server, serve, anchors, change):
    def answer(wire):
        message = dns.message.from_wire(server.reply(wire, udp=False))
        change(message)
        return message.to_wire()

    with patient(serve("tcp", answer)) as resolvers:
        verdict = validate(*QUESTION, anchors, resolvers.asking(), time.time())
    assert isinstance(verdict, Bogus)
    assert verdict.chain == ()


def test_a_slow_https_answer_ends_after_the_time_of_a_try(doh):
    doh.drips = True
    with patient(doh.setting, ssl_context=doh.trust, try_seconds=0.3) as resolvers:
        with pytest.raises(NotNowError, match="timed out"):
            resolvers.asking()(QUESTION)
        doh.drips = False
        assert in_the_end(resolvers)


def test_an_https_connection_is_reused_and_each_question_has_its_own_time(doh, monkeypatch):
    with patient(doh.setting, ssl_context=doh.trust) as resolvers:
        assert texts(resolvers.asking()(QUESTION))
        later = SimpleNamespace(monotonic=lambda: time.monotonic() + PATIENCE)
        for module in (transport, timed):
            monkeypatch.setattr(module, "time", later)
        assert texts(resolvers.asking()(QUESTION))
    assert doh.connections == 1


def test_an_https_resolver_with_an_untrusted_certificate_is_not_used(doh):
    with patient(doh.setting) as resolvers, pytest.raises(NotNowError, match="not reachable"):
        resolvers.asking()(QUESTION)
