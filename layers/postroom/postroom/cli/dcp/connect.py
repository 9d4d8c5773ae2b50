"""`postroom dcp connect`: open a session with a target, and close it."""

from postroom.cli.dcp.target import DcpTargetOptions, TargetUrl
from postroom.cli.inputs import AsJson
from postroom.cli.output import print_json
from postroom.cli.terminal import print_line
from postroom.core.ijson import JsonValue


def connect(url: TargetUrl, target: DcpTargetOptions, as_json: AsJson = False) -> None:
    """Open a session and close it: shows who the target is."""
    key = target.load_key()
    with target.open(url, key) as connection:
        address, version = connection.connect(), connection.target_version
    found: dict[str, JsonValue] = {"target": f"0x{address}", "version": version, "you": f"0x{key.address}"}
    if as_json:
        print_json(found)
        return
    for name, value in found.items():
        print_line(f"{name:<8} {value}")
