"""The log lines and metrics of a function, parsed as by CloudWatch."""

import json
from typing import Any

Json = dict[str, Any]


def lines(output: str) -> list[Json]:
    """Each line of the output as JSON. Raises ValueError for any other line."""
    return [json.loads(line) for line in output.splitlines()]


def log_lines(output: str) -> list[Json]:
    """The log lines."""
    return [line for line in lines(output) if "_aws" not in line]


def metrics(output: str) -> dict[str, list[float]]:
    """The values of each metric, as the Embedded Metric Format declares them."""
    found: dict[str, list[float]] = {}
    for line in lines(output):
        for directive in line.get("_aws", {}).get("CloudWatchMetrics", []):
            assert directive["Namespace"] == "postroom"
            assert directive["Dimensions"] == [["service"]]
            for metric in directive["Metrics"]:
                value = line[metric["Name"]]
                found.setdefault(metric["Name"], []).extend(value if isinstance(value, list) else [value])
    return found
