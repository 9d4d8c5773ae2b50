"""The wallet names of the demo: alice.eth and bob.eth, and ds.eth, the delivery service of our receiver.

Bob's mailbox accepts alice.eth and blocks mallory.eth.
"""

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from postroom.core.errors import NotNowError
from postroom.core.ijson import JsonValue
from postroom.core.settings import DeploymentSettings
from postroom.demo.deployment import DemoDeployment
from postroom.names.profiles import Profiles
from postroom.names.registry import PROFILE_KEY, SERVICE_KEY, MemoryRegistry
from postroom.protocols.dm3.envelope import DeliveryInformation, Dm3Envelope, write_envelope
from postroom.protocols.dm3.extension import FilterRules, ProfileExtension
from postroom.protocols.dm3.keys import UserKeys, read_user_keys
from postroom.protocols.dm3.message import MessageMetadata
from postroom.protocols.dm3.profile import UserProfile, data_uri
from postroom.protocols.dm3.service import ServiceKeys
from postroom.protocols.dm3.sign import sign_message
from postroom.storage.directory.domains import Dm3Mailbox

ALICE: Final = "alice.eth"
BOB: Final = "bob.eth"
MALLORY: Final = "mallory.eth"
SERVICE: Final = "ds.eth"


class Names:
    """The users with wallet names.

    `host`: of the delivery service. `keys`: a folder for the private keys of users. `pinned`: the names in the
    operator's document; others are found only where they are published.
    """

    def __init__(
        self,
        receiver: DemoDeployment,
        host: str,
        keys: Path,
        *,
        pinned: Sequence[str] = (ALICE, BOB, MALLORY, SERVICE),
    ) -> None:
        self.receiver = receiver
        self._keys = keys
        self.users = {name: self.keys_of(name) for name in (ALICE, BOB, MALLORY)}
        self.service = self._service_keys().profile(f"https://{host}")
        texts = {name: {PROFILE_KEY: data_uri(profile_of(user))} for name, user in self.users.items()}
        texts[SERVICE] = {SERVICE_KEY: data_uri(self.service.as_json())}
        self.profiles = Profiles(MemoryRegistry(texts), time.time)
        self.registry_file = self._keys / "registry.json"
        self.registry_file.write_text(json.dumps(texts, indent=1), encoding="utf-8")
        # If the state of the stack was kept, it has its operator's settings, which must not be overwritten.
        if not self._has_registry():
            self._open({name: texts[name] for name in pinned})

    def _has_registry(self) -> bool:
        try:
            self.receiver.objects.get(DeploymentSettings().dm3_registry)
        except KeyError:
            return False
        return True

    def _open(self, pinned: dict[str, dict[str, str]]) -> None:
        document = json.dumps(pinned).encode()
        self.receiver.objects.replace(DeploymentSettings().dm3_registry, document, "application/json")
        rules = FilterRules(block=(MALLORY,))
        extension = ProfileExtension(message_types=("NEW", "REPLY", "REACTION"), rules=rules)
        self.receiver.operators.put_dm3_mailbox(Dm3Mailbox(BOB, extension))

    def key_file(self, name: str) -> Path:
        """The file with the private keys of a name."""
        return self._keys / f"{name}.json"

    def forgery(self, text: str, now_ms: int) -> Dm3Envelope:
        """An envelope that claims to be from alice.eth to bob.eth, but is signed by mallory.eth."""
        keys, bob = self.users[MALLORY], self.profiles.user(BOB)
        metadata = MessageMetadata(BOB, ALICE, now_ms)
        return write_envelope(
            sign_message(text, metadata, keys.signing),
            delivery=DeliveryInformation(BOB, ALICE),
            receiver_key=bob.encryption_key,
            service_key=self.profiles.service(SERVICE).encryption_key,
            signing=keys.signing,
        )

    def keys_of(self, name: str) -> UserKeys:
        """The private keys of a name: from its file, or new ones."""
        path = self.key_file(name)
        if path.exists():
            return read_user_keys(json.loads(path.read_bytes()))
        keys = UserKeys.random()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o600)
        path.write_text(json.dumps(keys.as_json()), encoding="utf-8")
        return keys

    def _service_keys(self) -> ServiceKeys:
        secret = self.receiver.storage.delivery_service_keys
        try:
            return secret.get()
        except NotNowError:
            made = ServiceKeys.generate()
            secret.put(made)
            return made


def profile_of(keys: UserKeys) -> dict[str, JsonValue]:
    """The profile of a user of ds.eth."""
    return UserProfile(keys.encryption.public, keys.signing.public, (SERVICE,)).as_json()
