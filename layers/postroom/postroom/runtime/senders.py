"""Keys of senders, from DNS under DNSSEC, and the judge of NLWeb messages, who asks for them."""

import time

from postroom.core.settings import Settings
from postroom.crypto.rsa_ed25519 import KeyRules
from postroom.names.dnssec import IANA_ROOT, Policy, TrustAnchors
from postroom.names.keys import KeepTimes, KeyDirectory
from postroom.pipeline.judges.nlweb import NlwebJudge
from postroom.protocols.nlweb.key_record import parse_key_record
from postroom.runtime.adapters import DnsKeys
from postroom.runtime.resolvers import build_resolvers
from postroom.runtime.shared import named, times_of
from postroom.storage.directory.domains import Directory


def build_sender_keys(settings: Settings) -> DnsKeys:
    """Senders' keys by DNS under DNSSEC."""
    rules = KeyRules(settings.allow_rsa_1024)
    return DnsKeys(
        KeyDirectory(
            build_resolvers(settings).asking,
            anchors_of(settings),
            lambda records: parse_key_record(records, rules),
            clock=time.time,
            policy=Policy(settings.dnssec_accept_sha1, settings.dnssec_skew_seconds),
            times=KeepTimes(settings.key_cache_min_seconds, settings.key_cache_max_seconds),
        )
    )


def build_judge(settings: Settings, directory: Directory) -> NlwebJudge:
    """The judge of NLWeb messages."""
    return NlwebJudge(
        keys=build_sender_keys(settings),
        directory=directory,
        clock=time.time,
        key_rules=KeyRules(settings.allow_rsa_1024),
        times=times_of(settings),
    )


def anchors_of(settings: Settings) -> TrustAnchors:
    """What DNSSEC is proven from. Raises SettingsError."""
    with named("TRUST_ANCHORS or NEGATIVE_TRUST_ANCHORS"):
        return TrustAnchors.parse(settings.trust_anchors or IANA_ROOT, settings.negative_trust_anchors)
