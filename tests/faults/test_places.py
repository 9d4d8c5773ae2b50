"""No call of AWS is spared: whatever the functions' code can ask of AWS, a flow asks, and so is struck there."""

import re

import pytest
from tests.faults.conftest import Played
from tests.faults.places import HERE, Place, Site, sites

# What all flows come through is known from the runs of test_faults, which plays only some of them in `make test`.
pytestmark = [pytest.mark.stack, pytest.mark.xdist_group("faults")]

SPARED = {
    "storage/directory/operators.py": "operators' commands",
    "storage/directory/mailboxes.py": "operators' commands; owners are answered once it is done",
    "storage/limits/verification_codes.py": "codes for targets: the mailbox API says so, and is asked again",
    "storage/containers/store.py": "owners' archives, whose every call is struck in tests/storage/test_containers.py",
    "pipeline/silent_zones.py SilentSenders._full: self._zones.read": "the inbox queues the message or does not",
    "pipeline/silent_zones.py SilentSenders._full: self._zones.proof": "the same",
    "pipeline/silent_zones.py SilentSenders._full_of_proven: self._zones.read": "the same",
    "pipeline/silent_zones.py PatientKeys._take_back: self._zones.put_off": "one failure more is counted",
    "storage/limits/challenges.py": "signing in, once more if it failed",
    "storage/secrets/dated_keys.py DatedKeys.add: self._secret.read": "operators' commands: keys",
    "storage/secrets/dated_keys.py DatedKeys.add: self._secret.put": "operators' commands: keys",
    "storage/secrets/dated_keys.py DatedKeys.replace_all: self._secret.put": "operators' commands: keys",
    "storage/secrets/dated_keys.py DatedKeys.newest_and_all: self._secret.malformed": "no call of AWS",
    "storage/mail/head.py Heads.raise_to: self._table.update": "it spares the next pass something, no more",
    "pipeline/discarding.py Discarding.discard: self._heads.show": "as in Filing._show, before the claim is done",
    "storage/mail/head.py Heads.leave_out: self._table.update": "the same",
    "storage/mail/head.py Heads._cut: self._table.update": "as Heads._count, if a pass has left out a gap before",
    "storage/mail/head.py Learning._write: self.heads.raise_to": "the same",
    "storage/mail/head.py Learning._write: self.heads.leave_out": "the same",
    "storage/aws/object_store.py ObjectStore.replace: self._s3.put_object": "operators' commands",
    "storage/secrets/secret.py Secret.put: self._secrets.put_secret_value": "operators' commands: keys",
    "storage/secrets/signing_keys.py SigningKeys.put: self._secret.put": "operators' commands: keys",
    "storage/secrets/signing_keys.py SigningKeys.put: self._secret.read": "operators' commands: keys",
    "storage/secrets/dm3_keys.py DeliveryServiceKeys.put: self._secret.put": "operators' commands: keys",
    "storage/secrets/signing_keys.py SigningKeys._signing_key: self._secret.malformed": "no call of AWS",
    "storage/secrets/dm3_keys.py DeliveryServiceKeys.get: self._secret.malformed": "the same",
    "storage/secrets/webhook_keys.py WebhookKeys._text: self._secret.malformed": "the same",
    "storage/limits/quotas.py Usages.take_off: self._table.update": "the job's: the next look mends the count",
    "storage/limits/quotas.py Usages.correct: self._table.update": "of a count that the next look mends",
    "storage/aws/dead_letter_queue.py": "operators' commands",
    "storage/mail/outbox.py Outbox.mailboxes_of: self._table.page": "operators' commands",
    "storage/mail/reader.py Reader.count_all: self._table.scan": "operators' commands",
    "storage/audit/collection.py": "the audit, which writes nothing",
    "storage/aws/table.py DynamoTable.scan: self._dynamodb.get_paginator": "operators' commands, and the audit",
    "storage/mail/inbox_log.py logged_lines: logs.get_paginator": "the audit",
    "storage/secrets/signing_keys.py SigningKeys.first: self._secret.entries": "to ask a graph, from memory",
    "storage/mail/outbox.py Outbox.newest: self._table.page": "the list of the mailbox API, which writes nothing",
    "pipeline/claims.py unpack: objects.get": "for queue messages of the previous release: a read",
    "pipeline/worker.py Worker._decide_by_row: self.objects.get": "of an object that somebody else deleted: a read",
    "pipeline/outbox_dead_letters.py": "one end, noted once, whoever notes it; what failed is done in the next round",
    "runtime/adapters.py Topics.carry: self._sns.publish": "a target as a webhook is; no topic is in this stack",
    "outbound/notification_sender.py NotificationSender.fan_out: self.queue.send": "where another call failed",
    "outbound/notification_sender.py NotificationSender.notify: self.queue.send": "the same",
    "outbound/notification_sender.py NotificationSender._notify: self.keys.code": "codes: owners ask for others",
    "outbound/notification_sender.py NotificationSender._end: self.targets.failed": "the same",
    "pipeline/nlweb_inbox.py NlwebInbox.manifest: self.directory.domain": "it keeps nothing, and promises nothing",
    "pipeline/nlweb_inbox.py NlwebInbox._take_in: self.directory.domain": "from memory: it was asked for just before",
    "pipeline/slow_names.py": "of senders who are told to try again, whatever becomes of it",
    "storage/limits/name_texts.py": "the same",
    "runtime/adapters.py SharedTexts.find: self._texts.find": "a read; if it fails, the registries themselves are used",
    "storage/secrets/chain_endpoints.py": "a read before a message is accepted; and operators' commands",
    "pipeline/dm3_inbox.py Dm3Inbox._check_sender: self.accounts.reach": "a read before a message is accepted",
}
NO_AWS = {"HttpsOutbound.post"}
"""Crash points outside AWS: buffers that refuse or are busy are among the troubles of FakeInternet."""


@pytest.fixture
def places(played: Played) -> set[Place]:
    """Where the calls of all flows come through."""
    assert played.code == 0, played
    return played.places


def excuse(site: Site) -> str | None:
    return next((each for each in (site.path, f"{site.path} {site.name}: {site.text}") if each in SPARED), None)


def test_every_call_of_aws_in_the_code_is_made_by_a_flow(places: set[Place]) -> None:
    spared = [site for site in sites() if not any(site.is_at(place) for place in places)]
    assert [str(site) for site in spared if not excuse(site)] == []
    assert {excuse(site) for site in spared} == SPARED.keys()


def test_every_crash_point_is_played_through(places: set[Place]) -> None:
    page = (HERE / "docs" / "design" / "guarantees.md").read_text(encoding="utf-8")
    [table] = re.findall(r"## Every crash point\n(.*?)\n## ", page, re.DOTALL)
    named = set(re.findall(r"`([a-z_/]+\.py)` `([A-Za-z_.]+)`", table))
    seen = {(place.path, place.name) for place in places}
    assert sorted(f"{path} {name}" for path, name in named - seen if name not in NO_AWS) == []
