import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.names.dnssec import Alias, Evidence, Link
from postroom.names.dnssec.denial import Denier
from postroom.names.dnssec.evidence import MAX_JSON_BYTES, SignatureWindow

ROOT = Link(".", 2, "aa" * 32, SignatureWindow(8, 20326, 1, 2))
EXAMPLE = Link("example.", 2, "bb" * 32, SignatureWindow(13, 7, 3, 4))
SENDER = Link("sender.example.", 4, "cc" * 48, SignatureWindow(13, 8, 5, 6))
EVIDENCE = Evidence(
    "k.sender.example.", "TXT", (Alias("a.", "b."),), (ROOT, EXAMPLE, SENDER), SignatureWindow(13, 9, 7, 8)
)


def test_the_text_form_is_one_line():
    keys = "RSASHA256 20326 → ECDSAP256SHA256 7 → ECDSAP256SHA256 8 → ECDSAP256SHA256 9"
    assert str(EVIDENCE) == f". → example. → sender.example. ({keys})"


def test_a_key_that_signs_both_keys_and_data_is_listed_once():
    alone = Evidence("x.", "TXT", (), (ROOT,), ROOT.keys)
    assert str(alone) == ". (RSASHA256 20326)"


def test_the_json_form_has_the_whole_chain():
    assert EVIDENCE.as_json() == {
        "owner": "k.sender.example.",
        "type": "TXT",
        "aliases": [["a.", "b."]],
        "chain": [
            {
                "zone": ".",
                "ds": f"SHA256:{'aa' * 32}",
                "keys": {"algorithm": "RSASHA256", "tag": 20326, "from": 1, "until": 2},
            },
            {
                "zone": "example.",
                "ds": f"SHA256:{'bb' * 32}",
                "keys": {"algorithm": "ECDSAP256SHA256", "tag": 7, "from": 3, "until": 4},
            },
            {
                "zone": "sender.example.",
                "ds": f"SHA384:{'cc' * 48}",
                "keys": {"algorithm": "ECDSAP256SHA256", "tag": 8, "from": 5, "until": 6},
            },
        ],
        "signed": {"algorithm": "ECDSAP256SHA256", "tag": 9, "from": 7, "until": 8},
    }


NAMES = st.one_of(
    st.integers(1, 500).map(lambda n: '\\"' * n),
    st.integers(1, 1016).map(lambda n: ("\\000" * n)[:n]),
    st.integers(1, 255).map(lambda n: "a" * n),
)
WINDOWS = st.builds(
    SignatureWindow, st.sampled_from([8, 13, 16]), st.integers(0, 65535), st.just(2**32 - 1), st.just(2**32 - 1)
)
LINKS = st.builds(Link, NAMES, st.sampled_from([2, 4]), st.just("ff" * 48), WINDOWS)


@given(
    st.builds(
        Evidence,
        NAMES,
        st.sampled_from(["TXT", "SOA"]),
        st.lists(st.builds(Alias, NAMES, NAMES), max_size=9).map(tuple),
        st.lists(LINKS, min_size=1, max_size=30).map(tuple),
        WINDOWS,
        st.lists(st.builds(Denier, st.just("NSEC"), NAMES, NAMES), max_size=4).map(tuple),
    )
)
def test_evidence_never_exceeds_its_limit_in_a_receipt(evidence):
    value = evidence.as_json()
    assert len(json.dumps(value, separators=(",", ":"))) <= MAX_JSON_BYTES
    left_out = len(evidence.aliases) + len(evidence.chain) - len(value["aliases"]) - len(value["chain"])
    left_out += len(evidence.deniers) - len(value.get("denied by", ()))
    assert value.get("omitted", 0) == left_out
    assert value["chain"]


def some(kind, *fields):
    return st.lists(st.builds(kind, *fields), max_size=3).map(tuple)


SMALL = st.builds(
    Evidence,
    st.just("k.sender.example."),
    st.sampled_from(["TXT", "DS"]),
    some(Alias, st.just("a."), st.just("b.")),
    some(Link, st.just("z."), st.sampled_from([1, 2, 4]), st.just("ff" * 32), WINDOWS),
    WINDOWS,
    some(Denier, st.sampled_from(["NSEC", "NSEC3"]), st.just("a."), st.just("c.")),
)


@given(SMALL)
def test_the_json_form_is_read_back_unchanged(evidence):
    assert Evidence.from_json(json.loads(json.dumps(evidence.as_json()))) == evidence


@pytest.mark.parametrize(
    "value",
    [None, [], "pre-shared", {}, {"chain": [{"zone": "."}]}, {**EVIDENCE.as_json(), "signed": {"algorithm": "NONE"}},
     {**EVIDENCE.as_json(), "chain": [{"zone": ".", "ds": "WHIRL:00", "keys": {}}]},
     {**EVIDENCE.as_json(), "aliases": [["a."]]},
     {**EVIDENCE.as_json(), "signed": {"algorithm": "RSASHA256", "tag": 1, "from": 0, "until": 2**32}},
     {**EVIDENCE.as_json(), "signed": {"algorithm": "RSASHA256", "tag": 1, "from": 0, "until": float("inf")}}],
)  # fmt: skip
def test_invalid_evidence_is_refused(value):
    with pytest.raises(ValueError, match="no evidence of a look-up"):
        Evidence.from_json(value)


def test_evidence_over_the_limit_of_a_receipt_loses_its_middle():
    def answer_to(owner):
        evidence = Evidence(owner, "TXT", (), (ROOT, *[EXAMPLE] * 9, SENDER), ROOT.keys)
        return evidence.as_json(), len(json.dumps(evidence.as_json(), separators=(",", ":")))

    longest = "k" * (MAX_JSON_BYTES - answer_to("")[1])
    value, size = answer_to(longest)
    assert (size, len(value["chain"]), "omitted" in value) == (MAX_JSON_BYTES, 11, False)
    value, _ = answer_to(longest + "k")
    assert (len(value["chain"]), value["omitted"]) == (10, 1)
    assert [value["chain"][end]["zone"] for end in (0, -1)] == [ROOT.zone, SENDER.zone]


@pytest.mark.parametrize("zones", [1, 5])
def test_an_ordinary_chain_is_complete(zones):
    assert "omitted" not in Evidence("k.sender.example.", "TXT", (), (EXAMPLE,) * zones, ROOT.keys).as_json()
