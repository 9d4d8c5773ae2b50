"""The look-up objects of a deployment: DNS resolvers, senders' keys, dm3 profiles, manifests, and HTTPS."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Final

from postroom.core.errors import NotNowError, SettingsError
from postroom.core.reasons import STORE_UNAVAILABLE
from postroom.runtime.parts import DeploymentParts

if TYPE_CHECKING:
    from postroom.core.leaky_bucket import LeakyBucket
    from postroom.names.accounts import SenderAccounts
    from postroom.names.dns import Resolvers
    from postroom.names.dnssec import Policy, TrustAnchors
    from postroom.names.ens.ens import Ens
    from postroom.names.manifest import ManifestDirectory
    from postroom.names.profile_documents import ProfileDocuments
    from postroom.names.profiles import Profiles
    from postroom.names.registrable_domains import Hold
    from postroom.names.registry import Registry
    from postroom.names.shared_registry import SharedRegistry
    from postroom.net.address_locks import AddressLocks
    from postroom.net.failing_addresses import FailingAddresses
    from postroom.net.https import HttpsClient
    from postroom.pipeline.look_ups import LookUps
    from postroom.pipeline.ports import SenderKeys
    from postroom.runtime.chain import ChainInUse
    from postroom.storage.aws.object_store import ObjectStore


PATIENT_SECONDS: Final = 10.0
"""For a look-up in one registry while nobody waits."""
_HTTPS_PORT: Final = 443


class NameParts(DeploymentParts):
    """The objects of `postroom.names` and `postroom.net`."""

    @cached_property
    def resolvers(self) -> "Resolvers":
        """The DNS resolvers of the setting RESOLVERS."""
        from postroom.names.dns import Resolvers

        settings = self._settings
        with named("RESOLVERS"):
            return Resolvers(
                settings.resolvers, try_seconds=settings.dns_try_seconds, budget_seconds=settings.dns_budget_seconds
            )

    @cached_property
    def anchors(self) -> "TrustAnchors":
        """The trust anchors of DNSSEC."""
        from postroom.names.dnssec import IANA_ROOT, TrustAnchors

        settings = self._settings
        with named("TRUST_ANCHORS or NEGATIVE_TRUST_ANCHORS"):
            return TrustAnchors.parse(settings.trust_anchors or IANA_ROOT, settings.negative_trust_anchors)

    @cached_property
    def look_ups(self) -> "LookUps":
        """The limits of look-ups."""
        from postroom.pipeline.look_ups import LookUps

        return LookUps(self._system.monotonic)

    @cached_property
    def sender_keys(self) -> "SenderKeys":
        """Senders' keys, from DNS with DNSSEC."""
        return self._sender_keys()

    @cached_property
    def sender_keys_for_requests(self) -> "SenderKeys":
        """The same, for requests that are answered at once: their look-ups hold a share of the function's runs."""
        from postroom.pipeline.look_ups import KIND

        return self._sender_keys(self._share(KIND, lambda: self._settings.inbox_reserved_concurrency))

    def _share(self, kind: str, reserved: Callable[[], int]) -> "Hold":
        """What limits look-ups to a share of the reserved runs. A function that makes none has no settings for it."""
        from postroom.pipeline.look_ups import HOLD_SECONDS, most_look_ups

        return lambda domain: self._storage.held_runs(kind, most_look_ups(reserved()), HOLD_SECONDS).hold(domain)

    def _sender_keys(self, hold: "Hold | None" = None) -> "SenderKeys":
        from postroom.crypto.rsa_ed25519 import KeyRules
        from postroom.names.keys import KeepTimes, KeyDirectory
        from postroom.protocols.nlweb.key_record import parse_key_record
        from postroom.runtime.adapters import DnsKeys

        settings, rules = self._settings, KeyRules(self._settings.allow_rsa_1024)
        look_ups, resolvers = self.look_ups, self.resolvers
        return DnsKeys(
            KeyDirectory(
                lambda: look_ups.asking(resolvers.asking, settings.dns_budget_seconds),
                self.anchors,
                lambda records: parse_key_record(records, rules),
                clock=self._system.clock,
                policy=self._policy,
                times=KeepTimes(settings.key_cache_min_seconds, settings.key_cache_max_seconds),
                hold=hold,
            )
        )

    @cached_property
    def _policy(self) -> "Policy":
        from postroom.names.dnssec import Policy

        return Policy(self._settings.dnssec_accept_sha1, self._settings.dnssec_skew_seconds)

    @cached_property
    def silent_zone(self) -> "Callable[[str], str | None]":
        """Finds the zone that is silent about a domain; None: our resolvers do not answer."""
        from postroom.names.silent_zones import silent_zone

        # Beside the look-up that failed before: the parents of the zone answer at once, and the zone itself does not.
        budget_seconds = self._settings.dns_try_seconds
        return lambda domain: silent_zone(domain, self.look_ups.asking(self.resolvers.asking, budget_seconds))

    @cached_property
    def is_silent(self) -> "Callable[[str], bool]":
        """Whether a domain does not answer, although our resolvers do."""
        from postroom.names.silent_zones import is_silent

        budget_seconds = self._settings.dns_try_seconds
        return lambda domain: is_silent(domain, self.look_ups.asking(self.resolvers.asking, budget_seconds))

    @cached_property
    def profiles(self) -> "Profiles":
        """The dm3 profiles of names, by the registries of the setting DM3_REGISTRIES."""
        from postroom.pipeline.look_ups import OWNERS_KIND

        return self._profiles(OWNERS_KIND, lambda: self._settings.mailbox_api_reserved_concurrency)

    @cached_property
    def profiles_for_dcp(self) -> "Profiles":
        """The same for functions/dcp, whose look-ups of owners hold runs of its own."""
        from postroom.pipeline.look_ups import DCP_OWNERS_KIND

        return self._profiles(DCP_OWNERS_KIND, lambda: self._settings.dcp_reserved_concurrency)

    def _profiles(self, owners_kind: str, reserved: Callable[[], int]) -> "Profiles":
        from postroom.names.profiles import Profiles
        from postroom.names.registries import PINNED, Registries
        from postroom.names.registry import MemoryRegistry
        from postroom.names.uris import uri_reader
        from postroom.pipeline.look_ups import RECEIVERS_KIND, SENDERS_KIND

        def of_dm3() -> int:
            return self._settings.dm3_reserved_concurrency

        _ = self._ipfs_gateways  # a wrong setting stops the start
        public = self._public_registries(self._ens_registry, self._settings.dm3_lookup_seconds)
        registry: Registry = Registries(public) if public else MemoryRegistry()
        return Profiles(
            registry,
            self._system.clock,
            uri_reader(lambda: self._profile_documents),
            pinned=self._pinned_registry if PINNED in self._registry_order else None,
            kept=self._shared(registry).kept if public else lambda _name, _key: None,
            senders=self._share(SENDERS_KIND, of_dm3),
            receivers=self._share(RECEIVERS_KIND, of_dm3),
            owners=self._share(owners_kind, reserved),
        )

    @cached_property
    def patient_registries(self) -> "Registry":
        """The registries beside the pinned one, with more time than a request has."""
        from postroom.names.registries import Registries
        from postroom.names.registry import MemoryRegistry

        public = self._public_registries(self.patient_ens, PATIENT_SECONDS)
        return Registries(public) if public else MemoryRegistry()

    @cached_property
    def patient_ens(self) -> "Registry":
        """The registry in ENS, with more time than a request has."""
        return self._registry_in_ens(self._chain(PATIENT_SECONDS))

    @cached_property
    def _ens_registry(self) -> "Registry":
        return self._registry_in_ens(self.chain)

    def _registry_in_ens(self, chain: "ChainInUse") -> "Registry":
        from postroom.names.ens_registry import EnsRegistry

        return EnsRegistry(chain, self._look_up_rate, self._system.clock)

    def _shared(self, registry: "Registry", hold: "Hold | None" = None) -> "SharedRegistry":
        from postroom.names.shared_registry import SharedRegistry
        from postroom.runtime.adapters import SharedTexts

        return SharedRegistry(registry, SharedTexts(self._storage.name_texts, self._system.clock).find, hold)

    @cached_property
    def _registry_order(self) -> tuple[str, ...]:
        from postroom.names.registries import parse_order

        with named("DM3_REGISTRIES"):
            return parse_order(self._settings.dm3_registries)

    def _public_registries(self, ens: "Registry", seconds: float) -> "list[Callable[[], Registry]]":
        """Those that everybody can publish in, in their order. `seconds`: for a look-up in that of DNS."""
        from postroom.names.registries import DNS, ENS, PINNED

        public: dict[str, Callable[[], Registry]] = {
            # What it imports takes long, and is needed by the first name only that is not pinned.
            DNS: lambda: self._dns_registry(seconds),
            ENS: lambda: ens,
        }
        return [public[kind] for kind in self._registry_order if kind != PINNED]

    @cached_property
    def _pinned_registry(self) -> "Registry":
        from postroom.names.registry import PinnedRegistry

        settings, objects = self._settings, self._storage.objects
        return PinnedRegistry(
            lambda: _registry_document(objects, settings.dm3_registry),
            self._system.clock,
            settings.dm3_registry_seconds,
        )

    @cached_property
    def _ipfs_gateways(self) -> tuple[str, ...]:
        from postroom.names.uris import read_gateways

        with named("IPFS_GATEWAYS"):
            return read_gateways(self._settings.ipfs_gateways)

    @cached_property
    def _profile_documents(self) -> "ProfileDocuments":
        """The documents at URIs of profiles; hosts that strangers name, and the operator's gateways of IPFS."""
        from postroom.names.ipfs.car import MAX_CAR_BYTES
        from postroom.names.ipfs.gateways import IpfsGateways
        from postroom.names.profile_documents import FETCH_SECONDS, ProfileDocuments

        urls = self._ipfs_gateways
        seconds = FETCH_SECONDS
        hosts = self._https_client(
            seconds / 2, seconds, self._failing, max_response_bytes=MAX_CAR_BYTES, keep_connections=True
        )
        # Gateways are never left alone: anybody may name a file that none of them has, for which they wait.
        of_gateways = self._https_client(seconds / 4, seconds, max_response_bytes=MAX_CAR_BYTES, keep_connections=True)
        return ProfileDocuments(hosts, IpfsGateways(urls, of_gateways) if urls else None, self._system.clock)

    def _dns_registry(self, seconds: float) -> "Registry":
        from postroom.names.dns_registry import DnsRegistry

        resolvers = self.resolvers
        return DnsRegistry(lambda: resolvers.asking(seconds), self.anchors, self._system.clock, self._policy)

    @cached_property
    def accounts(self) -> "SenderAccounts":
        """The accounts of senders, on the chain of ENS."""
        from postroom.names.accounts import SenderAccounts
        from postroom.pipeline.look_ups import SENDERS_KIND

        senders = self._share(SENDERS_KIND, lambda: self._settings.dm3_reserved_concurrency)
        addresses = self._shared(self._ens_registry, senders)
        return SenderAccounts(addresses, self.chain, self._look_up_rate, self._system.clock)

    @cached_property
    def _look_up_rate(self) -> "LeakyBucket":
        from postroom.core.leaky_bucket import LeakyBucket
        from postroom.names.ens_registry import BURST_SECONDS, LOOK_UPS_PER_SECOND

        return LeakyBucket(LOOK_UPS_PER_SECOND, LOOK_UPS_PER_SECOND * BURST_SECONDS, self._system.monotonic)

    @cached_property
    def chain(self) -> "ChainInUse":
        """What asks ENS while somebody waits: for texts and for accounts, over the same connections."""
        return self._chain(self._settings.dm3_lookup_seconds)

    def _chain(self, seconds: float) -> "ChainInUse":
        from postroom.runtime.chain import ChainInUse

        return ChainInUse(self._storage.chain_endpoints.get, lambda urls: self._ens(urls, seconds))

    def _ens(self, urls: tuple[str, ...], seconds: float) -> "Ens":
        from postroom.names.ens.endpoints import connect_endpoints
        from postroom.names.ens.ens import Ens
        from postroom.names.ens.lookup import Contracts
        from postroom.names.ens.rpc import MAX_ANSWER_BYTES
        from postroom.runtime.chain import EndpointFaults

        settings = self._settings
        gateways = self._https_client(
            seconds, seconds, self._failing, max_response_bytes=MAX_ANSWER_BYTES, keep_connections=True
        )
        contracts = Contracts(
            bytes.fromhex(settings.ens_universal_resolver[2:]),
            bytes.fromhex(settings.ens_registry[2:]),
            settings.ens_chain_id,
        )
        endpoints = connect_endpoints(
            urls,
            settings.ens_quorum,
            settings.ens_chain_id,
            ca_file=settings.outbound_ca_file or None,
            threads=self._system.threads,
            observe=EndpointFaults(self._own_faults).note,
        )
        return Ens(endpoints, gateways, contracts, self._system.clock, seconds)

    @cached_property
    def https(self) -> "HttpsClient":
        """Outbound HTTPS, limited by the settings, with hosts looked up at our own resolvers."""
        settings = self._settings
        return self._https_client(settings.dns_budget_seconds, settings.outbound_total_seconds, locks=self._locks)

    @cached_property
    def aws_https(self) -> "HttpsClient":
        """The same, for API Gateway: at its own port and by the public CAs, except in a local stack."""
        settings = self._settings
        return self._https_client(
            settings.dns_budget_seconds, settings.outbound_total_seconds, to_aws=not settings.outbound_allow_private
        )

    @cached_property
    def feedback_https(self) -> "HttpsClient":
        """The same, for buffers, which strangers name: few addresses, and none that failed a moment ago."""
        settings = self._settings
        return self._https_client(
            settings.dns_budget_seconds, settings.outbound_total_seconds, self._failing, locks=self._locks
        )

    @cached_property
    def manifests(self) -> "ManifestDirectory":
        """Other domains' manifests: `manifest_seconds` for each, of which a quarter is to find the wildcard of one that
        failed."""
        from postroom.names.failing_names import wildcard_above
        from postroom.names.manifest import ManifestDirectory

        seconds, resolvers, new_id = self._settings.manifest_seconds, self.resolvers, self._system.new_id
        return ManifestDirectory(
            self._https_client(seconds * 3 / 8, seconds * 3 / 4, self._failing, locks=self._locks),
            self._system.clock,
            lambda domain: wildcard_above(domain, resolvers.asking(seconds / 4), new_id()),
            fetch_seconds=seconds * 3 / 4,
        )

    @cached_property
    def _failing(self) -> "FailingAddresses":
        from postroom.net.failing_addresses import FailingAddresses

        return FailingAddresses(self._system.monotonic)

    @cached_property
    def _locks(self) -> "AddressLocks":
        from postroom.net.address_locks import AddressLocks

        return AddressLocks()

    def _https_client(
        self,
        dns_seconds: float,
        total_seconds: float,
        failing: "FailingAddresses | None" = None,
        *,
        locks: "AddressLocks | None" = None,
        to_aws: bool = False,
        max_response_bytes: int | None = None,
        keep_connections: bool = False,
    ) -> "HttpsClient":
        from postroom.names.host_addresses import addresses
        from postroom.net.https import FEW_ADDRESSES, MAX_ADDRESSES, MAX_RESPONSE_BYTES, HttpsClient

        settings, resolvers = self._settings, self.resolvers
        return HttpsClient(
            lambda host: addresses(host, resolvers.asking(dns_seconds)),
            port=_HTTPS_PORT if to_aws else settings.outbound_port,
            allow_private=settings.outbound_allow_private,
            ca_file=None if to_aws else settings.outbound_ca_file or None,
            # The first address must leave time for the second one.
            connect_timeout=min(settings.outbound_connect_seconds, total_seconds / 2),
            total_timeout=total_seconds,
            max_response_bytes=max_response_bytes or MAX_RESPONSE_BYTES,
            max_addresses=FEW_ADDRESSES if failing else MAX_ADDRESSES,
            failing=failing,
            locks=locks,
            keep_connections=keep_connections,
        )


def _registry_document(objects: "ObjectStore", name: str) -> bytes:
    from botocore.exceptions import ClientError

    try:
        return objects.document(name)
    except KeyError:
        # Most deployments pin nobody.
        return b"{}"
    except ClientError as error:
        raise NotNowError(STORE_UNAVAILABLE, "the registry of names cannot be read now") from error


@contextmanager
def named(setting: str) -> Iterator[None]:
    """The errors of a setting's own reader, with the name of the setting."""
    try:
        yield
    except SettingsError as error:
        raise SettingsError(f"{setting}: {error}") from error
