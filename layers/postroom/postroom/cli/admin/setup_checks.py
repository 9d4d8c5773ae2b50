"""Checks of what an operator sets up: stack, hosts, domains and keys. Values in, checks out."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final, NamedTuple, TypeGuard

from postroom.cli.admin.findings import Held, NamedDeployment, Served, Stack
from postroom.core.errors import PostroomError, SettingsError
from postroom.core.ijson import JsonValue
from postroom.crypto.reasons import KEY_RECORD_INVALID
from postroom.crypto.rsa_ed25519 import PrivateKey, PublicKey
from postroom.doctor.checks import CheckStatus, DoctorCheck, bad, good, skipped, warning
from postroom.doctor.keys import KeyFound
from postroom.net.endpoint_url import read_endpoint_url
from postroom.protocols.dm3.service import read_service_keys
from postroom.protocols.nlweb.key_record import record_text, zone_line
from postroom.protocols.nlweb.names import MAX_NAME, read_selector
from postroom.protocols.nlweb.reasons import KEY_NOT_FOUND
from postroom.protocols.nlweb.schema import POLLYWEB, Dialect
from postroom.storage.directory.domains import Domain
from postroom.storage.secrets.chain_endpoints import read_chain_endpoints

NEEDED: Final = (
    "ApiId", "ApiUrl", "DcpSocketUrl", "AlarmTopic", "InboxFunction", "Dm3Function", "WorkerFunction",
    "WaitingFunction", "MailboxFunction", "DcpFunction", "DeadLetterFunction", "CourierFunction", "FeedbackFunction",
    "CompactJob", "ExpireJob", "JobsLogGroup",
    "PostTable", "SeenTable", "DirectoryTable", "LimitsTable", "OutboxTable", "StorageTable", "DcpTable",
    "Bucket",
    "ClaimsQueueUrl", "RetryQueueUrl", "SuspectsQueueUrl", "LookUpsQueueUrl", "WaitingQueueUrl", "NamesQueueUrl",
    "DeadLetterQueueUrl",
    "CourierQueueUrl", "FeedbackQueueUrl", "CourierDeadLetterQueueUrl", "HorizonSeconds", "RetainSeconds",
    "CompactLagHours", "Dm3MessageTtlDays", "ClosedMailboxDays", "JobsReadUnitsPerSecond", "JobsWriteUnitsPerSecond",
    "EnsQuorum", "EnsChainId", "EnsUniversalResolver",
    "MailboxMaxMessages", "MailboxMaxBytes", "SigningKeysSecret", "DeliveryServiceKeysSecret", "TokenKeysSecret",
    "WebhookKeysSecret", "DcpIdentitiesSecret", "ChainEndpointsSecret", "OutboundPort", "NotifyTopicArn",
)  # fmt: skip
"""Outputs of every stack of this release: a test compares them with the template."""

OF_OURS: Final = "SuspectsQueueUrl"
"""An output that every release has, and that no other stack has under this name."""

LONGEST_NAME: Final = 34
"""The longest name of a stack.

With a longer one, CloudFormation shortens the names of functions, and roles refer to their logs by these names.
"""
_DEPLOYED: Final = ("CREATE_COMPLETE", "UPDATE_COMPLETE", "UPDATE_COMPLETE_CLEANUP_IN_PROGRESS", "IMPORT_COMPLETE")
_TAKEN_BACK: Final = (
    "the last deployment failed, and was rolled back: the previous release is running",
    "fix the cause, and deploy again",
)
_MAKE_ANEW: Final = ("it cannot be used in this state", "`sam delete --stack-name {}`, and deploy again")
_ENDED_BADLY: Final = {
    "REVIEW_IN_PROGRESS": (
        "its changes were shown, and not confirmed",
        "`sam deploy` once more, and answer y to *Deploy this changeset?*",
    ),
    "UPDATE_ROLLBACK_COMPLETE": _TAKEN_BACK,
    "UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS": _TAKEN_BACK,
    "UPDATE_ROLLBACK_FAILED": (
        "the last deployment failed, and could not be rolled back",
        "fix the cause, then `aws cloudformation continue-update-rollback --stack-name {}`",
    ),
    "UPDATE_FAILED": ("the last deployment failed half way", "fix the cause, and deploy again"),
    "IMPORT_ROLLBACK_COMPLETE": (
        "an import failed, and was rolled back: the previous release is running",
        "fix the cause, and import again",
    ),
    "IMPORT_ROLLBACK_FAILED": ("an import failed, and could not be rolled back", "fix the cause, and import again"),
    **dict.fromkeys(("CREATE_FAILED", "ROLLBACK_COMPLETE", "ROLLBACK_FAILED", "DELETE_FAILED"), _MAKE_ANEW),
}
"""The meaning of a status, and what to do."""
_FAILED: Final = (500, 502)
"""API Gateway's answers if a function fails. 503 may also mean that no instance is free."""
_SHOWN: Final = 5
"""Names in one sentence."""

# --- the stack ---------------------------------------------------------------------------------------------------


def judge_stack(place: NamedDeployment, stack: Stack) -> DoctorCheck:
    """The check `stack`: did the last deployment succeed?"""
    name, detail = "stack", f"{place.name} is {stack.status}"
    if len(place.name) > LONGEST_NAME:
        found = f"its name has {len(place.name)} characters: functions may not write logs, nor metrics"
        return bad(name, None, found, f"deploy a stack whose name has at most {LONGEST_NAME}")
    if stack.status in _DEPLOYED:
        return good(name, f"{detail}, since {datetime.fromtimestamp(stack.changed, UTC):%Y-%m-%d %H:%M} UTC")
    if stack.status.endswith("_IN_PROGRESS") and stack.status not in _ENDED_BADLY:
        return DoctorCheck(
            name, CheckStatus.NOT_CHECKED, f"{detail}: it is being changed", "check again when that is done"
        )
    what, todo = _ENDED_BADLY.get(stack.status, ("postroom does not know this status", "follow AWS's message"))
    why = f"`aws cloudformation describe-stack-events --stack-name {place.name}` says why"
    return bad(name, None, f"{detail}: {what}", f"{why}; {todo.format(place.name)}")


def judge_outputs(place: NamedDeployment, outputs: Collection[str], stack: Stack | None) -> DoctorCheck:
    """The check `outputs`: is it a stack of this release? `stack`: None: unknown."""
    missing = [name for name in NEEDED if name not in outputs]
    if not missing:
        return good("outputs", f"all {len(NEEDED)} that commands need are there")
    if not outputs and stack and stack.status not in _DEPLOYED:
        return skipped("outputs", "there are none, and the stack is not deployed")
    if OF_OURS not in outputs:
        detail = f"{place.name} is not a deployment of postroom: it lacks the outputs that commands need"
        return bad("outputs", None, detail, "name another stack with --stack-name")
    return bad("outputs", None, f"missing: {_some(missing)}; it is an older deployment", place.deploy)


# --- hosts -------------------------------------------------------------------------------------------------------


def judge_hosts(
    place: NamedDeployment, records: Mapping[str, str], domains: Sequence[str] | None, looked_up: int
) -> DoctorCheck:
    """The check `hosts`: do any lead here? `records`: by host, those of the stack itself. `domains`: None: unknown.

    The hosts of `looked_up` domains are looked up.
    """
    name = "hosts"
    if place.is_local:
        return good(name, "a local stack serves the hosts of every domain that is added")
    none = "the stack itself has none (DomainName is empty)"
    detail = f"the stack serves {' and '.join(records)}" if records else none
    if domains is None:
        return good(name, detail) if records else skipped(name, f"{detail}, and its domains are unknown")
    if len(domains) > looked_up:
        detail += f"; those of {looked_up} domains are looked up, `postroom doctor DOMAIN` does it for another"
    elif not records:
        detail += "; those of its domains are looked up"
    if records or domains:
        return good(name, detail)
    return bad(
        name, None, f"{none}: senders cannot find it until nlweb.<domain> and pw.<domain> lead here", _with_host(place)
    )


def name_host(
    place: NamedDeployment, host: str, met: DoctorCheck, answered: int, record: str | None, *, is_first: bool
) -> DoctorCheck:
    """The check of one host, from the worst problem that senders meet there. `record`: its DNS record, if known.

    `answered`: the status of its inbox; 0: it could not be reached. `is_first`: the stack itself has no hosts yet, and
    may get these.
    """
    domain = host.partition(".")[2]
    if answered in _FAILED:
        return bad(
            f"host {host}", None, f"it answered {answered} to GET /inbox: if it leads here, the inbox does not work",
            f"{place.log('InboxFunction', '1 hour ago')} says why; docs/operate/own-faults.md says what to do",
        )  # fmt: skip
    todo = f"{met.next}; `postroom doctor {domain}` says more" if met.next else ""
    if met.status is CheckStatus.BAD and met.name == "host":
        todo = f"deploy functions/inbox/hosts.yaml as a stack for {domain}: docs/operate/deploy.md, More domains"
        if record:
            todo = f"create this record in the zone of {domain}: {record}"
        elif is_first:
            todo = _with_host(place, domain)
    return DoctorCheck(f"host {host}", met.status, met.found, todo)


def _with_host(place: NamedDeployment, domain: str = "YOUR.DOMAIN") -> str:
    said = f"DomainName={domain}, and HostedZoneId or CertificateArn"
    where = "in `sam deploy --guided` or samconfig.toml"
    return f"set {said} {where}, and deploy {place.name} again: docs/operate/deploy.md"


# --- domains -----------------------------------------------------------------------------------------------------


def judge_domains(place: NamedDeployment, domains: Sequence[str], dm3_mailboxes: int) -> DoctorCheck:
    """The check `domains`: are there any?"""
    name = "domains"
    if domains:
        return good(name, f"{len(domains)}: {_some(domains)}")
    if dm3_mailboxes:
        return good(name, f"none; there are {dm3_mailboxes} dm3 mailboxes")
    return bad(name, None, "none: no messages are accepted", f"`postroom domain add your.domain {place.option}`")


def judge_domain(place: NamedDeployment, served: Served, buffered: Sequence[str]) -> DoctorCheck:
    """The check of one domain: does it accept messages? `buffered`: other domains whose Feedback is kept here."""
    its, inbox = served.domain.name, served.domain.inbox
    name = f"domain {its}"
    if not inbox and served.domain.buffer:
        return good(name, "it only accepts Feedback")
    if not inbox:
        todo = f"`postroom domain add {its} --inbox {place.option}`, or remove it"
        return warning(name, "it accepts no messages, and no Feedback", todo)
    if served.subjects:
        return good(name, f"it accepts messages of {served.subjects} subject{'s' if served.subjects > 1 else ''}")
    if buffered:
        return good(name, f"it has no subjects of its own, and accepts Feedback for {_some(buffered)}")
    todo = f"`postroom subject add 'Hello@Host' --domain {its} --mailbox {its} {place.option}`"
    return bad(name, None, "it has no subjects: messages to it are discarded as UnexpectedSubject", todo)


class Stored(NamedTuple):
    """The signing key of a domain, without its private part."""

    selector: str
    public: PublicKey


def read_stored(entry: JsonValue) -> Stored | None:
    """An entry of the signing keys; None: it has another form."""
    if not isinstance(entry, dict):
        return None
    try:
        key = PrivateKey.from_pem(str(entry.get("pem")).encode())
        return Stored(read_selector(str(entry.get("selector")), "selector"), key.public)
    except (PostroomError, UnicodeEncodeError):
        return None


def judge_domain_key(place: NamedDeployment, domain: Domain, keys: Mapping[str, Stored | None] | None) -> DoctorCheck:
    """The check of the key of one domain. `keys`: the content of the secret, by domain; None: unknown."""
    name, its = f"key of {domain.name}", domain.name
    if keys is None:
        return skipped(name, "the signing keys are unknown")
    keygen = f"`postroom keygen --domain {its} --selector pk1 --out {its}.pem`"
    add = f"`postroom domain add {its} --key {its}.pem --selector pk1 {place.option}`"
    make = f"{keygen}, publish the record that it prints, then {add}"
    if its not in keys and domain.signs:
        return bad(
            name, None, "none, although the directory says that it signs: its messages wait, and are given up", make
        )
    if its not in keys and not domain.inbox:
        return good(name, "none: it accepts no messages that need an answer")
    if its not in keys:
        return bad(name, None, "none: it cannot send, and no Feedback is sent about discarded messages", make)
    stored = keys[its]
    if stored is None:
        return bad(name, None, "the stored value is not a key with a selector", make)
    selector = stored.selector
    if domain.inbox and not domain.signs:
        detail = (
            f"stored under the selector {selector}, but not by `postroom domain add`: its owner cannot send with it"
        )
        return warning(name, detail, f"`postroom domain add {its} {place.option}`")
    # In a local stack, a domain's zone and hosts belong to the stack, not to one deployment.
    network = f" {place.option.partition(' --deployment')[0]}" if place.is_local else ""
    doctor = f"`postroom doctor {its} --selector {selector}{network}`"
    return good(name, f"stored under the selector {selector}; {doctor} checks the domain from outside")


def judge_published(domain: str, dialect: Dialect, stored: Stored, found: KeyFound | None) -> DoctorCheck:
    """The check of the DNS record of a domain's key, under the name for one dialect.

    None: the name is too long for DNS.
    """
    name, wrong = f"key record of {domain} for {dialect.authority}", _wrong_with(domain, dialect, stored, found)
    if wrong is None:
        return good(name, f"there is one at {dialect.key_name(domain, stored.selector)}")
    if wrong.status is CheckStatus.BAD and dialect is POLLYWEB:
        # A domain that does not use this dialect needs no record for it.
        return warning(name, f"{wrong.found}; senders of {dialect.authority} reject its Feedback", wrong.next)
    return replace(wrong, name=name)


def _wrong_with(domain: str, dialect: Dialect, stored: Stored, found: KeyFound | None) -> DoctorCheck | None:
    record = zone_line(dialect.key_name(domain, stored.selector), record_text(stored.public))
    publish = f"publish this TXT record: {record}"
    if found is None:
        detail = f"the name of its record would be longer than the {MAX_NAME} characters of a DNS name"
        return bad("", None, detail, "use a shorter selector")
    wrong = next((check for check in (found.record, found.strength) if not check.is_good), None)
    if wrong is None and found.key != stored.public:
        detail = f"{found.record.found}, but it is not that of the signing key {stored.public.fingerprint}"
        return bad("", None, detail, f"{publish} (or store the key that is published)")
    if wrong and wrong.reason in (KEY_NOT_FOUND, KEY_RECORD_INVALID):
        # The doctor's advice would make another key.
        return replace(wrong, next=f"publish only this TXT record there: {record}")
    return wrong


# --- keys --------------------------------------------------------------------------------------------------------


def judge_signing_keys(place: NamedDeployment, held: Held) -> DoctorCheck:
    """The check `signing keys`."""
    name = "signing keys"
    if held.value is None:
        return _unreadable(name, held)
    ill = [domain for domain, entry in held.value.items() if read_stored(entry) is None]
    if ill:
        # The names are not shown either: a key may be in place of a domain.
        todo = f"`postroom domain add DOMAIN --key KEY.pem --selector SELECTOR {place.option}` replaces a domain's key"
        return bad(name, None, f"{len(ill)} of {len(held.value)} cannot be read (nothing of them is shown here)", todo)
    return good(name, f"of {_some(list(held.value))}" if held.value else "the secret exists, and has no keys yet")


def judge_delivery_keys(place: NamedDeployment, held: Held, dm3_mailboxes: int) -> DoctorCheck:
    """The check `delivery service keys`."""
    name = "delivery service keys"
    make = f"`postroom dm3 keygen --service --url https://YOUR-HOST {place.option}`"
    if held.value is None:
        return _unreadable(name, held)
    if not held.value and dm3_mailboxes:
        return bad(
            name, None, f"none, and there are {dm3_mailboxes} dm3 mailboxes: their messages are not accepted", make
        )
    if not held.value:
        return good(name, "none: it is not a dm3 delivery service")
    try:
        keys = read_service_keys(held.value)
    except (ValueError, KeyError, TypeError, PostroomError):
        return _unreadable(name, held)
    return good(name, f"one signing key, and {len(keys.encryption)} that messages are encrypted to")


def judge_token_keys(place: NamedDeployment, held: Held, *, now: float) -> DoctorCheck:
    """The check `token keys`."""
    name = "token keys"
    if not _are_dated(held.value):
        return _unreadable(name, held)
    if not any(int(kid) <= now for kid in held.value):
        return bad(
            name, None, "no key signs yet: owners cannot sign in", f"`postroom mailbox rotate-keys {place.option}`"
        )
    return good(name, f"{len(held.value)}: the newest signs owners' tokens")


def judge_dcp_identities(held: Held, *, now: float) -> DoctorCheck:
    """The check `DCP identities`."""
    name = "DCP identities"
    if not _are_dated(held.value) or not any(int(begun) <= now for begun in held.value):
        return _unreadable(name, held)
    return good(name, f"{len(held.value)}: the newest opens sessions of DCP")


def judge_names(place: NamedDeployment, held: Held, *, quorum: int, parameters: Mapping[str, str]) -> DoctorCheck:
    """The check `names`. `quorum`: how many endpoints must agree; `parameters`: of the stack, if they are known."""
    name, settings = "names", _settings_of_names(parameters)
    try:
        urls = read_chain_endpoints(held.value)
    except SettingsError:
        return _unreadable(name, held)
    if not urls:
        return good(name, f"no endpoints: dm3 names are not looked up in ENS{settings}")
    hosts = ", ".join(read_endpoint_url(url).host for url in urls)
    todo = f"`postroom dm3 chain put FILE {place.option}` stores more of them, of different providers"
    if len(urls) < quorum:
        said = f"{hosts}: {quorum} must agree (EnsQuorum), so nothing is found out in ENS"
        return bad(name, None, f"{said}{settings}", todo)
    if quorum == 1:
        said = f"{hosts}: what one of them says is believed (EnsQuorum is 1)"
        return warning(name, f"{said}{settings}", f"{todo}; raise EnsQuorum")
    unused = f"`postroom dm3 chain check {place.option}` uses them"
    return good(name, f"{hosts}: {quorum} must agree{settings}; not used here: {unused}")


def _settings_of_names(parameters: Mapping[str, str]) -> str:
    if "Dm3Registries" not in parameters:
        return ""
    order, gateways = parameters["Dm3Registries"].replace(",", ", "), parameters.get("IpfsGateways") or "none"
    return f"; looked up in this order: {order}; gateways of IPFS: {gateways}"


def judge_dcp_table(place: NamedDeployment, table: str, removal: str) -> DoctorCheck:
    """The check `DCP table`. `removal`: whether rows are removed by their time, in AWS's word."""
    name = "DCP table"
    if removal in ("ENABLED", "ENABLING"):
        return good(name, f"{table}: its rows are removed when they are over")
    specification = "--time-to-live-specification Enabled=true,AttributeName=ttl"
    return bad(
        name, None, f"{table}: its rows are never removed; a table that was restored from a backup has no TTL",
        f"`aws dynamodb update-time-to-live --table-name {table} {specification}`, and if it was restored "
        f"`postroom dcp identity rotate {place.option}`: docs/operate/deploy.md says why",
    )  # fmt: skip


def judge_dcp_socket(place: NamedDeployment, url: str, stages: Sequence[str]) -> DoctorCheck:
    """The check `DCP socket`. `stages`: of the WebSocket API."""
    name, stage = "DCP socket", url.rpartition("/")[2]
    if stage in stages:
        return good(name, f"messages of DCP are taken at {url}")
    return bad(
        name, None, f"the WebSocket API of {url} has no stage {stage}: owners cannot connect to it", place.deploy
    )


def judge_webhook_keys(held: Held) -> DoctorCheck:
    """The check `webhook keys`."""
    name = "webhook keys"
    if held.value is None or not _all_texts(held.value) or "0" not in held.value:
        return _unreadable(name, held)
    return good(name, "the key for webhooks' secrets is there")


def _unreadable(name: str, held: Held) -> DoctorCheck:
    return bad(
        name, None, "the secret has been changed, and cannot be read (its content is not shown here)",
        f"restore its previous version: `aws secretsmanager list-secret-version-ids --secret-id {held.id}`",
    )  # fmt: skip


def _are_dated(value: Mapping[str, JsonValue] | None) -> TypeGuard[Mapping[str, JsonValue]]:
    """Whether they are texts by epoch seconds."""
    return value is not None and _all_texts(value) and all(begun.isdecimal() for begun in value)


def _all_texts(value: Mapping[str, JsonValue]) -> bool:
    return all(isinstance(text, str) and text for text in value.values())


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
