"""The set-up of a dm3 delivery service for tests of the functions: keys, registry of names, mailboxes."""

import json
import time
from collections.abc import Iterable, Mapping

from tests.aws import Deployed

from postroom.core.settings import DeploymentSettings
from postroom.names.registry import PROFILE_KEY
from postroom.protocols.dm3.service import ServiceKeys
from postroom.storage.directory.domains import Dm3Mailbox
from postroom.storage.secrets.dm3_keys import DeliveryServiceKeys


def open_service(
    deployed: Deployed, keys: ServiceKeys, profiles: Mapping[str, str], mailboxes: Iterable[Dm3Mailbox]
) -> None:
    """Set up a delivery service. `profiles`: the URI of each user's profile, by name."""
    clients = deployed.clients
    DeliveryServiceKeys(clients.secrets, deployed.secrets["DeliveryServiceKeys"], time.time).put(keys)
    put_registry(deployed, json.dumps({name: {PROFILE_KEY: uri} for name, uri in profiles.items()}).encode())
    operators = deployed.storage.operators
    for mailbox in mailboxes:
        operators.put_dm3_mailbox(mailbox)


def put_registry(deployed: Deployed, document: bytes) -> None:
    """Write the document of the pinned registry."""
    deployed.clients.s3.put_object(Bucket=deployed.bucket, Key=DeploymentSettings().dm3_registry, Body=document)
