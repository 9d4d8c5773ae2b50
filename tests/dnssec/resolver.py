"""A resolver (unbound) that knows the server of each zone, with or without validation."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.dnssec.programs import program
from tests.dnssec.recipe import Recipe
from tests.dnssec.servers import Command

from postroom.local.ports import HOST


def unbound(ports: Mapping[Recipe, int], anchors: str = "", left_out: Sequence[str] = ()) -> Command:
    """A resolver that asks for each zone at its port of loopback; with anchors it validates, by its own defaults, what
    is not `left_out`."""

    def command(folder: Path, port: int) -> list[str]:
        lines = [
            "server:",
            f'    directory: "{folder}"',
            '    chroot: ""',
            '    username: ""',
            '    pidfile: ""',
            "    use-syslog: no",
            "    do-daemonize: no",
            f"    interface: {HOST}@{port}",
            "    do-ip6: no",
            "    num-threads: 1",
            "    do-not-query-localhost: no",
            "    ede: yes",
            # A case says nothing of the cases before it.
            "    aggressive-nsec: no",
            "    rrset-roundrobin: no",
            f'    module-config: "{"validator " if anchors else ""}iterator"',
        ]
        if anchors:
            (folder / "anchors").write_text(anchors)
            lines.append(f'    trust-anchor-file: "{folder}/anchors"')
        lines += [f'    domain-insecure: "{origin}"' for origin in left_out]
        for recipe, at in ports.items():
            lines += ["stub-zone:", f'    name: "{recipe.origin}"', f"    stub-addr: {HOST}@{at}"]
        # The default one would listen at a fixed port.
        lines += ["remote-control:", "    control-enable: no"]
        configuration = folder / "unbound.conf"
        configuration.write_text("\n".join(lines))
        return [program("unbound"), "-d", "-c", str(configuration)]

    return command
