"""The authoritative servers of the zones: named and knotd."""

from collections.abc import Mapping
from pathlib import Path

from tests.dnssec.knot import policy
from tests.dnssec.programs import program
from tests.dnssec.recipe import Maker, Recipe
from tests.dnssec.servers import Command

from postroom.local.ports import HOST


def named(zones: Mapping[Recipe, Path]) -> Command:
    """BIND as an authoritative server for these zones' files."""

    def command(folder: Path, port: int) -> list[str]:
        lines = [
            "options {",
            f'    directory "{folder}"; pid-file none; lock-file none; session-keyfile none;',
            f"    listen-on port {port} {{ {HOST}; }}; listen-on-v6 {{ none; }};",
            "    recursion no; dnssec-validation no; notify no;",
            # The same order in every run: some validators stop at the first signature that fails.
            "    rrset-order { order none; };",
            "};",
            # No control channel: its port would be fixed.
            "controls { };",
            *(f'zone "{recipe.origin}" {{ type primary; file "{file}"; }};' for recipe, file in zones.items()),
        ]
        configuration = folder / "named.conf"
        configuration.write_text("\n".join(lines))
        return [program("named"), "-c", str(configuration), "-g", "-n", "1"]

    return command


def knotd(zones: Mapping[Recipe, Path], keys: Path) -> Command:
    """Knot as an authoritative server for these zones' files; `keys`: of those that it signs by itself, a folder."""
    signs = [recipe for recipe in zones if recipe.maker is Maker.KNOTD and recipe.keys]

    def command(folder: Path, port: int) -> list[str]:
        lines = [
            "server:",
            f'    rundir: "{folder}"',
            f"    listen: {HOST}@{port}",
            "    udp-workers: 1",
            "    tcp-workers: 1",
            "    background-workers: 1",
            "database:",
            f'    storage: "{folder}"',
            f'    kasp-db: "{keys}"',
            "template:",
            "  - id: default",
            "    journal-content: none",
            # What it signs stays in memory.
            "    zonefile-sync: -1",
            # Zones are broken on purpose.
            "    semantic-checks: off",
            "policy:",
            *map(policy, signs),
            "mod-onlinesign:",
        ]
        for recipe in signs:
            if recipe.denial.compact:
                lines += [f'  - id: "{recipe.origin}"', f'    policy: "{recipe.origin}"']
        lines.append("zone:")
        for recipe, file in zones.items():
            lines += [f'  - domain: "{recipe.origin}"', f'    file: "{file}"']
            if recipe in signs and recipe.denial.compact:
                lines.append(f'    module: "mod-onlinesign/{recipe.origin}"')
            elif recipe in signs:
                lines += ["    dnssec-signing: on", f'    dnssec-policy: "{recipe.origin}"']
        configuration = folder / "knot.conf"
        configuration.write_text("\n".join(lines))
        return [program("knotd"), "-c", str(configuration)]

    return command
