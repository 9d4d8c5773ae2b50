"""docs/metrics.md names every metric that the functions can write, and every alarm of the template."""

import re

from tests.aws import TEMPLATE, resources

from postroom.post.courier import Delivery
from postroom.post.filing import Fate

ROOT = TEMPLATE.parent
DOCUMENT = (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")
BY_REASON = ("Refused", "Discarded", "Retried")


def documented() -> set[str]:
    return set(re.findall(r"^\| `(\w+…?)`", DOCUMENT, re.MULTILINE))


def written_by_name() -> set[str]:
    """Names that stand as they are in the functions' code."""
    said = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "functions").rglob("*.py"))
    calls = re.findall(r'metrics\.add_metric\("(\w+)"(?: if .+ else "(\w+)")?', said)
    return {name for call in calls for name in call if name}


def test_every_metric_is_documented_and_no_other() -> None:
    fates = {fate.title() for fate in Fate}
    deliveries = {f"Feedback{delivery.name.title().replace('_', '')}" for delivery in Delivery}
    by_reason = {f"{name}…" for name in BY_REASON}
    alarms = set(resources("AWS::CloudWatch::Alarm"))
    assert documented() == written_by_name() | fates | deliveries | by_reason | alarms
