"""The audit: what the post office did well gives zeros; each thing that must never be is found where it is."""

import json
from collections import Counter
from typing import Any

import pytest
from tests.aws import Deployed
from tests.post.house import ASK, NOW, ORDER, OTHER_KEY, RETAIN, UNKNOWN, House

from postroom.post.answers import Answer
from postroom.post.worker import Record
from postroom.store.audit import End, Findings, audit
from postroom.store.gather import gather
from postroom.store.keys import RowKey
from postroom.store.ledger import Accepted, read_ledger
from postroom.store.problems import Problem
from postroom.store.register import Register


class Office:
    """A post office, and the ledger of its door."""

    def __init__(self, deployed: Deployed) -> None:
        self.deployed = deployed
        self.house = House(deployed)
        self.log: list[str] = []

    def post(self, body: bytes) -> Record:
        """Post a message; its claim, from the queue."""
        return self.note(self.house.post(body))

    def note(self, answer: Answer) -> Record:
        about = [part.about for part in answer.parts or (answer,)]
        assert all(about)
        self.log += [json.dumps({"message": "queued", **each}) for each in about]
        return self.house.record(self.deployed.bodies("ClaimsQueue")[-1])

    def settle(self, record: Record) -> None:
        """The worker has the claim, and the queue has it no more."""
        self.house.settle(record)
        self.deployed.empty("ClaimsQueue")

    def filed(self, **said: Any) -> RowKey:
        """A message that was accepted and filed; its row."""
        record = self.post(self.house.envelope(**said))
        self.settle(record)
        return self.house.claim(record).row

    def discarded(self) -> RowKey:
        return self.filed(subject=UNKNOWN)

    def ledger(self) -> list[Accepted]:
        return list(read_ledger(self.log))

    def audit(self, *, read_bytes: bool = True, now: float = 0) -> Findings:
        evidence = gather(
            self.deployed.premises, now=int(now or self.house.clock.now), retain_seconds=RETAIN, read_bytes=read_bytes
        )
        return audit(evidence, self.ledger())

    # ---- what must never happen, done by hand ----------------------------------------------------------------
    def change(self, key: RowKey, update: str, **values: Any) -> None:
        self.deployed.clients.dynamodb.update_item(
            TableName=self.deployed.tables["PostTable"],
            Key={"pk": {"S": key.pk}, "sk": {"S": key.sk}},
            UpdateExpression=update,
            **({"ExpressionAttributeValues": {f":{name}": value for name, value in values.items()}} if values else {}),
        )

    def item(self, key: RowKey) -> dict[str, Any]:
        item = self.deployed.item("PostTable", pk=key.pk, sk=key.sk)
        assert item is not None
        return item

    def copy(self, key: RowKey, **changed: Any) -> None:
        """A second row like this one."""
        self.deployed.clients.dynamodb.put_item(
            TableName=self.deployed.tables["PostTable"], Item={**self.item(key), **changed}
        )

    def remove(self, key: RowKey) -> None:
        self.deployed.clients.dynamodb.delete_item(
            TableName=self.deployed.tables["PostTable"], Key={"pk": {"S": key.pk}, "sk": {"S": key.sk}}
        )

    def forget(self) -> None:
        """Empty `seen`."""
        for item in self.deployed.rows("SeenTable"):
            self.deployed.clients.dynamodb.delete_item(
                TableName=self.deployed.tables["SeenTable"], Key={"pk": item["pk"]}
            )

    def objects(self, prefix: str) -> list[str]:
        return [name for name in self.deployed.objects() if name.startswith(prefix)]


@pytest.fixture
def office(deployed: Deployed) -> Office:
    return Office(deployed)


def found(findings: Findings) -> dict[Problem, int]:
    return dict(Counter(finding.problem for finding in findings.problems))


# --- a post office that works -----------------------------------------------------------------------------------------


def test_an_empty_store_is_clean(office: Office) -> None:
    findings = office.audit()
    assert findings.clean
    assert (findings.accepted, findings.rows) == (Counter(), Counter())


def test_every_200_of_a_busy_day_has_one_end(office: Office) -> None:
    house = office.house
    office.filed()
    office.filed(body="x" * 1_000_000)  # too large for the queue
    acknowledged = office.filed()
    Register(office.deployed.clients.dynamodb, office.deployed.tables["PostTable"]).acknowledge(
        acknowledged, int(NOW) + RETAIN
    )
    office.filed(subject=ORDER)
    office.discarded()
    office.filed(key=OTHER_KEY)
    for notice in house.notices():
        house.courier().deliver(notice)
    office.deployed.empty("CourierQueue")
    twice = house.envelope()
    for body in (twice, twice):
        office.settle(office.post(body))
    office.settle(office.post(house.envelope(body="another text", correlation=correlation_of(twice))))
    house.handlers.handlers["ask"] = lambda request: request
    assert house.post(house.envelope(ASK)).status == 200
    office.post(house.envelope())
    findings = office.audit()
    assert findings.problems == ()
    # Both sides are counters: what is not named is zero.
    assert findings.accepted == Counter(
        {End.FILED: 3, End.ACKNOWLEDGED: 1, End.FORWARDED: 1, End.DISCARDED: 3, End.COPY: 1, End.WAITING: 1}
    )
    assert findings.rows == {End.FILED: 3, End.ACKNOWLEDGED: 1, End.FORWARDED: 1, End.DISCARDED: 3}
    assert findings.discarded == {"UnexpectedSubject": 1, "SignatureInvalid": 1, "CorrelationReused": 1}
    assert (findings.answered, findings.unanswered, findings.told, findings.telling) == (1, 0, 2, 0)


def correlation_of(envelope: bytes) -> str:
    return str(json.loads(envelope)["Header"]["Correlation"])
