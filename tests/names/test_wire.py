import dns.flags
import dns.message
import dns.name
import dns.rcode
import pytest
from dns.rdatatype import TXT, A
from hypothesis import given
from hypothesis import strategies as st
from tests.names.messages import answer_of

from postroom.names.dns import Question
from postroom.names.dns.wire import Query, Unusable, check_answer, make_query, read_answer

QUESTION = Question(dns.name.from_text("pk1._domainkey.sender.example"), TXT)


def response(query=None, **changes):
    message = dns.message.make_response(dns.message.from_wire((query or make_query(QUESTION)).to_wire()))
    for name, value in changes.items():
        setattr(message, name, value)
    return message


def test_a_query_asks_for_recursion_signatures_and_no_checking_with_a_small_payload():
    query = dns.message.from_wire(make_query(QUESTION).to_wire())
    assert query.flags & dns.flags.RD
    assert query.flags & dns.flags.CD
    assert query.ednsflags & dns.flags.DO
    assert query.payload == 1232
    assert not query.flags & dns.flags.AD


def test_a_query_is_what_dnspython_would_send():
    theirs = dns.message.make_query(*QUESTION, use_edns=0, want_dnssec=True, payload=1232, id=7)
    theirs.flags |= dns.flags.CD
    assert Query(7, QUESTION).to_wire() == theirs.to_wire()


def test_ids_are_random():
    assert len({make_query(QUESTION).id for _ in range(50)}) > 40


def test_an_answer_to_the_query_is_read():
    query = make_query(QUESTION)
    assert read_answer(query, response(query).to_wire()) is not None


def test_an_answer_with_another_id_is_ignored():
    query = make_query(QUESTION)
    assert read_answer(query, response(query, id=query.id ^ 1).to_wire()) is None


def test_an_answer_to_another_question_is_ignored():
    query = make_query(QUESTION)
    for other in (Question(QUESTION.name, A), Question(dns.name.from_text("other.example"), TXT)):
        assert read_answer(query, response(make_query(other), id=query.id).to_wire()) is None


def test_a_query_sent_back_is_not_an_answer():
    query = make_query(QUESTION)
    assert read_answer(query, query.to_wire()) is None


@pytest.mark.parametrize("rcode", ["SERVFAIL", "REFUSED", "FORMERR", "NOTIMP", "BADVERS", "BADCOOKIE"])
def test_a_failure_is_unusable(rcode):
    message = response()
    message.set_rcode(dns.rcode.from_text(rcode))
    with pytest.raises(Unusable, match=rcode):
        check_answer(answer_of(message))


@pytest.mark.parametrize("rcode", ["SERVFAIL", "REFUSED", "FORMERR", "NOTIMP", "NOERROR"])
def test_only_a_failure_need_not_repeat_the_question(rcode):
    query = make_query(QUESTION)
    message = response(query, question=[])
    message.set_rcode(dns.rcode.from_text(rcode))
    assert (read_answer(query, message.to_wire()) is None) is (rcode == "NOERROR")


@given(st.binary(max_size=300))
def test_random_bytes_are_not_an_answer(wire):
    assert read_answer(make_query(QUESTION), wire) is None


@given(st.data())
def test_a_damaged_answer_is_read_or_ignored(data):
    query = make_query(QUESTION)
    message = response(query)
    message.answer = [dns.rrset.from_text(QUESTION.name, 60, "IN", "TXT", '"v=DKIM1; p=abc" "def"')]
    wire = bytearray(message.to_wire())
    for _ in range(data.draw(st.integers(1, 6))):
        wire[data.draw(st.integers(0, len(wire) - 1))] = data.draw(st.integers(0, 255))
    read = read_answer(query, bytes(wire))
    assert read is None or (read.id == query.id and read.flags & dns.flags.QR)
