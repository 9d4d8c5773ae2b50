"""The descriptor file of a running local stack: `local.json`, written by `postroom up`.

{
  "resolvers": "127.0.0.1:5300",                resolver setting (names/dns/servers.py)
  "trust_anchors": ". IN DS 1234 13 2 ABCD…",   lines of DS records
  "ca_file": "/home/me/.postroom/ca.pem",       absolute
  "port": 8443,                                 where the post offices answer, on 127.0.0.1
  "endpoint": "http://127.0.0.1:4566",          the embedded AWS
  "secret": "sn3…",                             its secret access key; the access key id is an account
  "chain_endpoints": ["https://localhost:8443/", …],   JSON-RPC of the chain, all of one; none: there is no chain
  "ipfs_gateways": ["https://ipfs.chain.example"],     gateways of IPFS, found by the resolvers above
  "deployments": {"receiver": {"account": "000000000001", "outputs": {"PostTable": "…", …}}}
}
"""

import json
import socket
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from postroom.cli.exits import NotFoundFault, UsageFault

FILE_NAME = "local.json"
DEFAULT_PATH = Path(".postroom") / FILE_NAME


@dataclass(frozen=True, slots=True)
class DescribedDeployment:
    """One deployment of the template: its AWS account, and the outputs of its stack by name."""

    account: str
    outputs: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Descriptor:
    """What a command needs to know to reach a local stack."""

    resolvers: str
    trust_anchors: str
    ca_file: str
    port: int
    endpoint: str
    secret: str = field(repr=False)
    deployments: Mapping[str, DescribedDeployment]
    chain_endpoints: tuple[str, ...] = ()
    ipfs_gateways: tuple[str, ...] = ()

    def write(self, path: Path) -> None:
        """Write the file, which only its owner may read; its folder is created if necessary."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)  # an old one may be readable by others
        path.touch(mode=0o600)
        path.write_text(json.dumps(asdict(self), indent=2) + "\n", encoding="utf-8")

    def is_running(self) -> bool:
        """Whether the embedded AWS still listens: a stack that was killed leaves its file behind."""
        url = urlsplit(self.endpoint)
        try:
            socket.create_connection((url.hostname or "", url.port or 80), timeout=2).close()
        except OSError:
            return False
        return True


def read_descriptor(path: Path) -> Descriptor:
    """The descriptor in a file, or in `local.json` of a folder. Raises NotFoundFault, UsageFault."""
    file = path / FILE_NAME if path.is_dir() else path
    try:
        value: dict[str, Any] = json.loads(file.read_bytes())
        deployments = {
            str(name): DescribedDeployment(str(entry["account"]), {str(k): str(v) for k, v in entry["outputs"].items()})
            for name, entry in value["deployments"].items()
        }
        return Descriptor(
            resolvers=str(value["resolvers"]),
            trust_anchors=str(value["trust_anchors"]),
            ca_file=str(value["ca_file"]),
            port=int(value["port"]),
            endpoint=str(value["endpoint"]),
            secret=str(value["secret"]),
            deployments=deployments,
            chain_endpoints=tuple(str(each) for each in value["chain_endpoints"]),
            ipfs_gateways=tuple(str(each) for each in value["ipfs_gateways"]),
        )
    except FileNotFoundError:
        raise NotFoundFault(f"there is no {file}", hint="`postroom up` starts a local stack and writes it") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise UsageFault(f"{file} does not describe a local stack; `postroom up` writes a new one") from None
