"""Whom a domain wants told: its manifest's Feedback (decision "Feedback"; NLWeb: how can senders know ...)."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fakes.net import FakeHttps

from postroom.core.errors import NotNowError
from postroom.core.reasons import OUTBOUND_FAILED
from postroom.names.documents import MAX_DEPTH
from postroom.names.failing_names import FAILING_NAMES
from postroom.names.manifest import MAX_MANIFEST_BYTES, FeedbackAddress, ManifestDirectory, feedback_of
from postroom.net.failing_addresses import FAILING_SECONDS, FailedRecentlyError

PRINTED = """
🤝: nlweb.org/MANIFEST/ABOUT
About:
  Name: any-sender.com
  Feedback: any-buffer.com
""".encode()


# --- reading ---------------------------------------------------------------------------------------------------


def test_the_manifest_of_the_specification() -> None:
    assert feedback_of(PRINTED).domain == "any-buffer.com"


@pytest.mark.parametrize(
    ("manifest", "domain"),
    [
        (b"Identity: {Feedback: any-buffer.com}", "any-buffer.com"),
        (b"About: {Feedback: new.example}\nIdentity: {Feedback: old.example}", "new.example"),
        (b"About: {Name: x}\nIdentity: {Feedback: old.example}", "old.example"),
        (b'{"About": {"Feedback": "Any-Buffer.COM"}}', "any-buffer.com"),
        (b"About: {Feedback: xn--bcher-kva.example}", "xn--bcher-kva.example"),
        ("About: {Feedback: a.example}".encode("utf-16"), "a.example"),
        (b"# comment\n---\nAbout:\n  Feedback: 'a.example'\n...\n", "a.example"),
        (b"x: !!python/object/apply:os.system [exit 1]\nAbout: {Feedback: a.example}", "a.example"),
        (b"x: 2026-99-99\nAbout: {Feedback: a.example}", "a.example"),
    ],
)
def test_feedback_is_read(manifest: bytes, domain: str) -> None:
    assert feedback_of(manifest).domain == domain


def nested(levels: int) -> bytes:
    """A manifest with this number of nested levels, including its own."""
    return b"x: " + b"[" * (levels - 1) + b"]" * (levels - 1) + b"\nAbout: {Feedback: a.example}"


BOMB = b"a: &a [x,x,x,x,x,x,x,x,x]\n" + b"".join(
    b"%c: &%c [%b]\n" % (n + 1, n + 1, b",".join([b"*%c" % n] * 9)) for n in range(ord("a"), ord("i"))
)


@pytest.mark.parametrize(
    ("manifest", "why"),
    [
        (b"", "has no Feedback"),
        (b"just text", "has no Feedback"),
        (b"[1, 2]", "has no Feedback"),
        (b"About: text", "has no Feedback"),
        (b"About: [Feedback]", "has no Feedback"),
        (b"About: {Name: any-sender.com}", "has no Feedback"),
        (b"Feedback: any-buffer.com", "has no Feedback"),
        (b"About: {Feedback: }", "not a host name"),
        (b"About: {Feedback: [a.example]}", "not a host name"),
        (b"About: {Feedback: 7}", "not a host name"),
        (b"About: {Feedback: localhost}", "not a host name"),
        (b"About: {Feedback: 127.0.0.1}", "not a host name"),
        (b"About: {Feedback: buffer.4ever}", "not a host name"),
        (b"About: {Feedback: 'https://a.example/'}", "not a host name"),
        (b"About: {Feedback: 'a.example/inbox'}", "not a host name"),
        (b"About: {Feedback: 'a.example:8443'}", "not a host name"),
        (b"About: {Feedback: 'user@a.example'}", "not a host name"),
        ("About: {Feedback: bücher.example}".encode(), "not a host name"),
        ("About: {Feedback: \u212a.example}".encode(), "not a host name"),  # Kelvin lower-cases to k
        (b"About: {Feedback: " + b"a" * 64 + b".example}", "not a host name"),
        (b"About: {", "not plain YAML"),
        (b"About: 'open", "not plain YAML"),
        (b"\xff\xff\xff", "not plain YAML"),
        (b"About: {Feedback: a.example}\n\x00", "not plain YAML"),
        (b"--- 1\n--- 2\n", "not plain YAML"),
        (b"{[a]: b}", "not plain YAML"),
        (b"x: &x a.example\nAbout: {Feedback: *x}", "not plain YAML"),
        (b"About: &a {x: *a}", "not plain YAML"),
        (b"d: &d {Feedback: a.example}\nAbout: {<<: *d}", "not plain YAML"),
        (BOMB + b"About: {Feedback: a.example}", "not plain YAML"),
        (b"[" * 16_000, "not plain YAML"),
        (nested(MAX_DEPTH + 1), "not plain YAML"),
        (b"- " * 8_000, "not plain YAML"),
        (b"? " * 8_000, "not plain YAML"),
        (b"About: {Feedback: a.example}\n#" + b"x" * MAX_MANIFEST_BYTES, "more than 16384 bytes"),
        (rb'About: {Feedback: "\UFFFFFFFF"}', "not plain YAML"),
        (rb'About: {Feedback: "\U00110000"}', "not plain YAML"),
    ],
)
def test_a_manifest_without_feedback_has_a_cause(manifest: bytes, why: str) -> None:
    found = feedback_of(manifest)
    assert found.domain is None
    assert why in found.why


def test_yaml_aliases_are_refused() -> None:
    named, repeated = b"x: &x a.example\nAbout: {Feedback: a.example}", b"x: &x a.example\nAbout: {Feedback: *x}"
    assert feedback_of(named).domain == "a.example"
    assert feedback_of(repeated) == FeedbackAddress(None, "the manifest is not plain YAML")


def test_the_length_of_a_manifest_is_limited() -> None:
    manifest = b"About: {Feedback: a.example}\n#"
    assert feedback_of(manifest.ljust(MAX_MANIFEST_BYTES, b"x")).domain == "a.example"
    assert feedback_of(manifest.ljust(MAX_MANIFEST_BYTES + 1, b"x")).domain is None


def test_the_depth_of_a_manifest_is_limited() -> None:
    assert feedback_of(nested(MAX_DEPTH)).domain == "a.example"
    assert feedback_of(nested(MAX_DEPTH + 1)).domain is None


@given(st.binary(max_size=60) | st.text(alphabet="About:Feedback {}[]-?&*!|>'\"%@\n\t#a.", max_size=60).map(str.encode))
def test_any_document_has_a_result(manifest: bytes) -> None:
    assert feedback_of(manifest).why


# --- fetching ---------------------------------------------------------------------------------------------------


class Hosts(FakeHttps):
    """The web as the directory sees it, with a clock."""

    now = 1_000_000.0

    def clock(self) -> float:
        return self.now


NLWEB = "https://nlweb.any-sender.com/manifest"
PW = "https://pw.any-sender.com/manifest"
DOWN = NotNowError(OUTBOUND_FAILED, "no connection")


def directory(hosts: Hosts, zone: str | None = None, **settings: float) -> ManifestDirectory:
    return ManifestDirectory(hosts, hosts.clock, lambda _: zone, **settings)  # type: ignore[arg-type]


def test_the_manifest_is_fetched_from_the_nlweb_host() -> None:
    hosts = Hosts({NLWEB: (200, PRINTED), PW: (200, b"")})
    assert directory(hosts).feedback_domain_of("any-sender.com") == "any-buffer.com"
    assert hosts.fetched == [NLWEB]


@pytest.mark.parametrize("domain", ["sender.4ever", "127.0x1", "localhost"])
def test_an_unreachable_host_has_no_manifest_without_a_request(domain: str) -> None:
    hosts = Hosts({})
    found = directory(hosts).feedback_of(domain)
    assert (found.domain, found.said, hosts.fetched) == (None, False, [])


def test_the_manifest_is_fetched_from_pw_if_there_is_no_nlweb_host() -> None:
    hosts = Hosts({PW: (200, PRINTED)})
    assert directory(hosts).feedback_domain_of("any-sender.com") == "any-buffer.com"
    assert hosts.fetched == [NLWEB, PW]


def test_pw_is_not_requested_if_the_nlweb_host_exists() -> None:
    hosts = Hosts({NLWEB: (404, b""), PW: (200, PRINTED)})
    assert directory(hosts).feedback_domain_of("any-sender.com") is None
    assert hosts.fetched == [NLWEB]


def test_a_domain_without_hosts_has_no_feedback() -> None:
    hosts = Hosts({})
    assert directory(hosts).feedback_of("any-sender.com") == FeedbackAddress(
        None, "the domain has no host that would serve a manifest"
    )


@pytest.mark.parametrize("status", [204, 301, 308, 400, 401, 403, 404, 410])
def test_an_invalid_manifest_names_no_feedback(status: int) -> None:
    found = directory(Hosts({NLWEB: (status, PRINTED)})).feedback_of("any-sender.com")
    assert found.domain is None
    assert str(status) in found.why


@pytest.mark.parametrize("page", [(500, b""), (502, b""), (503, b""), (429, b""), (408, b""), DOWN])
def test_a_temporary_error_is_retried_after_five_minutes(page: tuple[int, bytes] | NotNowError) -> None:
    hosts = Hosts({NLWEB: page, PW: (200, PRINTED)})
    ours = directory(hosts)
    with pytest.raises(NotNowError) as caught:
        ours.feedback_domain_of("any-sender.com")
    assert caught.value.reason is OUTBOUND_FAILED
    hosts.now += 299
    assert seconds_left(ours, "any-sender.com") == 1
    assert hosts.fetched == [NLWEB]
    hosts.pages[NLWEB] = (200, PRINTED)
    hosts.now += 1
    assert ours.feedback_domain_of("any-sender.com") == "any-buffer.com"


def test_a_host_that_is_not_tried_has_not_failed() -> None:
    """Its address failed for others: the name is tried as soon as the address may be."""
    hosts = Hosts({NLWEB: FailedRecentlyError(OUTBOUND_FAILED, "", 7)})
    ours = directory(hosts, "wild.example")
    assert seconds_left(ours, "any-sender.com") == 7
    hosts.pages[NLWEB] = (200, PRINTED)
    assert ours.feedback_domain_of("any-sender.com") == "any-buffer.com"


def seconds_left(manifests: ManifestDirectory, domain: str) -> float:
    """The seconds until a domain that failed a moment ago is tried again."""
    with pytest.raises(FailedRecentlyError) as caught:
        manifests.feedback_of(domain)
    assert caught.value.reason is OUTBOUND_FAILED
    return caught.value.seconds


def test_both_hosts_together_get_the_seconds_of_one_manifest() -> None:
    hosts = Hosts({PW: (200, PRINTED)})
    directory(hosts, fetch_seconds=3.0).feedback_of("any-sender.com")
    first, second = hosts.seconds
    assert 3.0 >= first >= second


@pytest.mark.parametrize("page", [(503, b""), DOWN])
def test_further_names_in_a_zone_whose_hosts_fail_cost_no_request_for_five_minutes(
    page: tuple[int, bytes] | NotNowError,
) -> None:
    names = [f"n{number}.wild.example" for number in range(200)]
    hosts = Hosts({f"https://nlweb.{name}/manifest": page for name in names})
    ours = directory(hosts, "wild.example")
    for name in names:
        with pytest.raises(NotNowError) as caught:
            ours.feedback_of(name)
        assert caught.value.reason is OUTBOUND_FAILED
    assert len(hosts.fetched) == FAILING_NAMES
    hosts.now += FAILING_SECONDS
    with pytest.raises(NotNowError):
        ours.feedback_of(names[-1])
    assert len(hosts.fetched) == FAILING_NAMES + 1


def test_a_manifest_that_was_read_stays_known_while_its_zone_fails() -> None:
    names = [f"n{number}.wild.example" for number in range(FAILING_NAMES)]
    hosts = Hosts({f"https://nlweb.{name}/manifest": DOWN for name in names})
    hosts.pages["https://nlweb.good.wild.example/manifest"] = (200, PRINTED)
    ours = directory(hosts, "wild.example")
    ours.feedback_of("good.wild.example")
    for name in names:
        with pytest.raises(NotNowError):
            ours.feedback_of(name)
    assert ours.feedback_domain_of("good.wild.example") == "any-buffer.com"


@pytest.mark.parametrize("domain", ["125a5c75-cb72-43d2-9695-37026dfcaa48", "localhost", "", "a.b/../c", "10.0.0.1"])
def test_an_invalid_host_name_causes_no_request(domain: str) -> None:
    hosts = Hosts({})
    assert directory(hosts).feedback_domain_of(domain) is None
    assert hosts.fetched == []


@pytest.mark.parametrize(("body", "seconds"), [(PRINTED, 3600), (b"", 300)], ids=["named", "nobody named"])
def test_a_result_is_cached_for_its_lifetime(body: bytes, seconds: int) -> None:
    hosts = Hosts({NLWEB: (200, body)})
    ours = directory(hosts)
    first = ours.feedback_domain_of("any-sender.com")
    hosts.now += seconds - 1
    assert ours.feedback_domain_of("any-sender.com") == first
    assert len(hosts.fetched) == 1
    hosts.now += 1
    ours.feedback_domain_of("any-sender.com")
    assert len(hosts.fetched) == 2


def test_domains_are_cached_separately_and_limited_in_number() -> None:
    page: Callable[[str], str] = "https://nlweb.{}.example/manifest".format
    hosts = Hosts({page(name): (200, b"About: {Feedback: b-%b.example}" % name.encode()) for name in "abc"})
    ours = directory(hosts, most=2)
    for name in "abcbca":
        assert ours.feedback_domain_of(f"{name}.example") == f"b-{name}.example"
    assert hosts.fetched == [page("a"), page("b"), page("c"), page("a")]


def test_failures_are_limited_in_number_and_do_not_displace_results() -> None:
    page: Callable[[str], str] = "https://nlweb.{}.example/manifest".format
    hosts = Hosts({page("good"): (200, PRINTED)} | {page(name): DOWN for name in "abc"})
    ours = directory(hosts, most=2)
    ours.feedback_of("good.example")
    for name in "abcbca":
        with pytest.raises(NotNowError):
            ours.feedback_of(f"{name}.example")
    ours.feedback_of("good.example")
    assert hosts.fetched == [page("good"), page("a"), page("b"), page("c"), page("a")]
