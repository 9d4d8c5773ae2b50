"""The settings of a deployment: declared in template.yaml, parsed here, typed, with units in their names.

A wrong setting stops the start with a sentence that names it.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Final

from postroom.core.errors import SettingsError

DAY_SECONDS: Final = 86_400
SQS_LONGEST_LIFE_SECONDS: Final = 14 * DAY_SECONDS
"""The longest time that a queue message can exist after it was last sent."""
SQS_LONGEST_DELAY_SECONDS: Final = 900
DM3_SIZE_CEILING_BYTES: Final = 5_000_000
"""As JSON text within JSON within an event of Lambda, which accepts 6 MB."""
DCP_MAX_TTL_CEILING_SECONDS: Final = 30 * DAY_SECONDS
DCP_SLOP_CEILING_MILLISECONDS: Final = 60_000
"""Stamps are remembered for as long as these could make a request count, so that no setting revives one."""
RETAIN_CEILING_SECONDS: Final = 30 * DAY_SECONDS
"""dm3 allows a mailbox to forget after 30 days at the earliest; what we remember must be deleted before that."""

MAX_ENS_QUORUM: Final = 5
"""As many requests are made for each look-up, at the same time."""

_MAY_BE_ZERO: Final = frozenset(
    {
        "dcp_reserved_concurrency", "dcp_slop_milliseconds", "directory_cache_seconds", "dm3_message_ttl_days",
        "dm3_reserved_concurrency", "dm3_self_registrations_per_domain", "dnssec_skew_seconds",
        "feedback_give_up_seconds", "feedback_per_domain_and_hour", "inbox_reserved_concurrency",
        "key_cache_max_seconds", "key_cache_min_seconds", "mailbox_api_reserved_concurrency", "mailbox_max_bytes",
        "mailbox_max_messages", "nlweb_max_skew_seconds", "storage_max_bytes", "storage_max_containers",
    }
)  # fmt: skip

_RANGES: Final = {
    "dcp_max_ttl_seconds": (15, DCP_MAX_TTL_CEILING_SECONDS),
    "dcp_session_seconds": (600, DAY_SECONDS),
    "dcp_slop_milliseconds": (0, DCP_SLOP_CEILING_MILLISECONDS),
    "dnssec_skew_seconds": (0, DAY_SECONDS),
    "ens_quorum": (1, MAX_ENS_QUORUM),
    "nlweb_max_skew_seconds": (0, DAY_SECONDS),
}
"""The least and the most."""
_ADDRESS: Final = re.compile(r"0x[0-9a-fA-F]{40}", re.ASCII)


@dataclass(frozen=True, slots=True)
class DeploymentSettings:
    """Every setting, by the name of its environment variable in lower case.

    Tables, bucket, queues and secrets are names, URLs and ARNs that the template sets for the functions that may use
    them; a function without a setting that it needs fails at start. For the origins of CORS and the pattern for topics,
    `*` is any and `none` is none, because an empty variable takes its default.
    """

    post_table: str = ""
    seen_table: str = ""
    directory_table: str = ""
    limits_table: str = ""
    outbox_table: str = ""
    storage_table: str = ""
    dcp_table: str = ""
    bucket: str = ""
    claims_queue_url: str = ""
    retry_queue_url: str = ""
    suspects_queue_url: str = ""
    look_ups_queue_url: str = ""
    waiting_queue_url: str = ""
    names_queue_url: str = ""
    dead_letter_queue_url: str = ""
    courier_queue_url: str = ""
    feedback_queue_url: str = ""
    courier_dead_letter_queue_url: str = ""
    signing_keys_secret: str = ""
    dm3_keys_secret: str = ""
    token_keys_secret: str = ""
    webhook_keys_secret: str = ""
    dcp_identities_secret: str = ""
    chain_endpoints_secret: str = ""

    nlweb_max_age_seconds: int = DAY_SECONDS
    nlweb_max_skew_seconds: int = 120
    nlweb_max_body_bytes: int = 1024 * 1024
    mailbox_max_messages: int = 0
    mailbox_max_bytes: int = 0
    horizon_seconds: int = 7 * DAY_SECONDS
    retain_seconds: int = 22 * DAY_SECONDS
    directory_cache_seconds: int = 30
    sync_lease_seconds: int = 30
    inbox_reserved_concurrency: int = 200
    allow_rsa_1024: bool = False

    dm3_size_limit_bytes: int = 4_000_000
    dm3_message_ttl_days: int = 0
    dm3_reserved_concurrency: int = 50
    dm3_cors_origins: str = "*"
    dm3_registries: str = "pinned,dns,ens"
    dm3_registry: str = "registry/names.yaml"
    dm3_registry_seconds: int = 30
    dm3_lookup_seconds: float = 4.0
    dm3_unverified_seconds: int = 3600
    dm3_self_registration: str = ""
    dm3_self_registrations_per_domain: int = 25
    ipfs_gateways: str = ""

    ens_quorum: int = 2
    ens_chain_id: int = 1
    ens_universal_resolver: str = "0xeEeEEEeE14D718C2B47D9923Deab1335E144EeEe"
    ens_registry: str = "0x00000000000C2E074eC69A0dFb2997BA6C7d2e1e"

    mailbox_api_cors_origins: str = "*"
    mailbox_api_requests_per_second: int = 20
    mailbox_api_reserved_concurrency: int = 100
    dcp_reserved_concurrency: int = 50
    storage_max_bytes: int = 1024 * 1024 * 1024
    storage_max_containers: int = 10_000
    outbox_keep_seconds: int = 30 * DAY_SECONDS
    outbox_give_up_seconds: int = 23 * 3600

    dcp_max_ttl_seconds: int = 7 * DAY_SECONDS
    dcp_slop_milliseconds: int = 10_000
    dcp_session_seconds: int = 3600
    dcp_socket_url: str = ""

    notify_interval_seconds: int = 60
    notify_pause_seconds: int = 3 * DAY_SECONDS
    notify_topic_arn: str = "none"

    resolvers: str = "tcp://9.9.9.9,tcp://1.1.1.1,tcp://8.8.8.8"
    trust_anchors: str = ""
    negative_trust_anchors: str = ""
    dnssec_accept_sha1: bool = False
    dnssec_skew_seconds: int = 0
    dns_try_seconds: float = 2.0
    dns_budget_seconds: float = 6.0
    key_cache_min_seconds: int = 60
    key_cache_max_seconds: int = 3600

    outbound_port: int = 443
    outbound_ca_file: str = ""
    outbound_allow_private: bool = False
    outbound_connect_seconds: float = 5.0
    outbound_total_seconds: float = 15.0
    manifest_seconds: float = 4.0
    feedback_per_domain_and_hour: int = 60
    feedback_give_up_seconds: int = DAY_SECONDS
    graph_domain: str = ""

    def __post_init__(self) -> None:
        """Refuse settings that cannot work, alone or together."""
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, str | bool) or value > 0 or (value == 0 and field.name in _MAY_BE_ZERO):
                continue
            form = "at least 0" if field.name in _MAY_BE_ZERO else "more than 0"
            raise SettingsError(f"{field.name.upper()} is {value}; it must be {form}")
        least = self.horizon_seconds + SQS_LONGEST_LIFE_SECONDS + DAY_SECONDS
        if not least <= self.retain_seconds < RETAIN_CEILING_SECONDS:
            raise SettingsError(
                f"RETAIN_SECONDS is {self.retain_seconds}; it must be at least HORIZON_SECONDS + 15 days ({least}), "
                "so that messages are remembered longer than any copy is queued, and under 30 days "
                f"({RETAIN_CEILING_SECONDS})"
            )
        for name, (lowest, most) in _RANGES.items():
            if not lowest <= getattr(self, name) <= most:
                raise SettingsError(f"{name.upper()} is {getattr(self, name)}; it must be {lowest} to {most}")
        self._check_addresses()
        if not 1 <= self.outbound_port <= 65535:
            raise SettingsError(f"OUTBOUND_PORT is {self.outbound_port}; it must be 1 to 65535")
        if self.outbox_keep_seconds < self.outbox_give_up_seconds + DAY_SECONDS:
            raise SettingsError(
                f"OUTBOX_KEEP_SECONDS is {self.outbox_keep_seconds}; it must be at least OUTBOX_GIVE_UP_SECONDS and "
                f"a day ({self.outbox_give_up_seconds + DAY_SECONDS}), or messages were forgotten while they wait"
            )
        if self.notify_interval_seconds > SQS_LONGEST_DELAY_SECONDS:
            raise SettingsError(
                f"NOTIFY_INTERVAL_SECONDS is {self.notify_interval_seconds}; it must be at most "
                f"{SQS_LONGEST_DELAY_SECONDS}, the longest delay of SQS"
            )
        if self.key_cache_min_seconds > self.key_cache_max_seconds:
            raise SettingsError(
                f"KEY_CACHE_MIN_SECONDS is {self.key_cache_min_seconds}; "
                f"it must be at most KEY_CACHE_MAX_SECONDS ({self.key_cache_max_seconds})"
            )
        if self.dm3_size_limit_bytes > DM3_SIZE_CEILING_BYTES:
            raise SettingsError(
                f"DM3_SIZE_LIMIT_BYTES is {self.dm3_size_limit_bytes}; it must be at most {DM3_SIZE_CEILING_BYTES}: "
                "AWS Lambda takes requests of 6 MB"
            )

    def _check_addresses(self) -> None:
        for name in ("ens_universal_resolver", "ens_registry"):
            text: str = getattr(self, name)
            if not _ADDRESS.fullmatch(text):
                raise SettingsError(
                    f"{name.upper()} is {text[:80]!r}; it must be an address: 0x and 40 hexadecimal digits"
                )

    def given(self, name: str) -> str:
        """The setting `name`, a text that has no default. Raises SettingsError if it is empty."""
        value: str = getattr(self, name)
        if not value:
            raise SettingsError(
                f"{name.upper()} is not set; template.yaml sets it for each function that needs it: deploy again"
            )
        return value


def read_settings(environment: Mapping[str, str]) -> DeploymentSettings:
    """The settings in `environment`; an absent or empty one takes its default. Raises SettingsError."""
    return DeploymentSettings(**_read(environment))


def _read(environment: Mapping[str, str]) -> dict[str, Any]:
    given: dict[str, Any] = {}
    for field in fields(DeploymentSettings):
        text = environment.get(field.name.upper(), "").strip()
        if not text:
            continue
        read, form = _READERS[type(field.default)]
        try:
            given[field.name] = read(text)
        except (ValueError, KeyError):
            raise SettingsError(f"{field.name.upper()} is {text[:80]!r}; it must be {form}") from None
    return given


class OutputSettings(DeploymentSettings):
    """The settings in a stack's outputs; for a missing one, the error names the output."""

    __slots__ = ()

    def given(self, name: str) -> str:
        """The setting `name`, a text that has no default. Raises SettingsError if the stack has no such output."""
        value: str = getattr(self, name)
        if not value:
            raise missing_output(_output_of(name))
        return value


def missing_output(name: str) -> SettingsError:
    """The sentence for a stack that lacks this output."""
    return SettingsError(f"the stack has no output {name}: it is not a deployment of postroom, or an older one")


def read_outputs(outputs: Mapping[str, str]) -> OutputSettings:
    """The settings in a stack's outputs; others take their defaults. Raises SettingsError.

    An output has the name of the parameter, or the resource, that the setting comes from.
    """
    return OutputSettings(
        **_read({field.name.upper(): outputs.get(_output_of(field.name), "") for field in fields(DeploymentSettings)})
    )


def _output_of(setting: str) -> str:
    name = "".join(part.capitalize() for part in setting.split("_"))
    return {"Dm3KeysSecret": "DeliveryServiceKeysSecret"}.get(name, name)


def _whole(text: str) -> int:
    # int and float accept more than people write: 1_000, ٣, nan, 1e999.
    if not re.fullmatch(r"-?[0-9]{1,12}", text):
        raise ValueError(text)
    return int(text)


def _decimal(text: str) -> float:
    if not re.fullmatch(r"-?[0-9]{1,12}(?:\.[0-9]{1,12})?", text):
        raise ValueError(text)
    return float(text)


_TRUTH: Final = {"true": True, "false": False}
_READERS: Final[dict[type, tuple[Callable[[str], object], str]]] = {
    str: (str, "a text"),
    int: (_whole, "a whole number"),
    float: (_decimal, "a number"),
    bool: (lambda text: _TRUTH[text.lower()], "true or false"),
}
