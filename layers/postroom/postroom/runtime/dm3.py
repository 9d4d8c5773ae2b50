"""The keys of the dm3 delivery service, and the profiles of its registry."""

import time

from botocore.exceptions import ClientError

from postroom.core.errors import NotNowError
from postroom.core.own_faults import OwnFaults
from postroom.core.settings import Settings
from postroom.names.profiles import Profiles
from postroom.names.registry import PinnedRegistry
from postroom.reasons import Reason
from postroom.runtime.aws import late_client
from postroom.storage.mail.segments import Objects
from postroom.storage.secrets.dm3_keys import DeliveryServiceKeys


def build_dm3_keys(settings: Settings, own_faults: OwnFaults, *, needed: bool = False) -> DeliveryServiceKeys:
    """The keys of the dm3 delivery service; for NLWeb alone nobody asks for them. `needed`: there must be some."""
    secrets = late_client("secretsmanager", own_faults)
    return DeliveryServiceKeys(secrets, settings.dm3_keys_secret, time.time, own_faults, needed=needed)


def build_profiles(settings: Settings, objects: Objects, *, without: bytes | None = None) -> Profiles:
    """The dm3 profiles of the deployment's registry. `without`: the document where there is none; None: then no look-up
    can be made."""
    registry = PinnedRegistry(
        lambda: _registry_document(objects, settings.dm3_registry, without), time.time, settings.dm3_registry_seconds
    )
    return Profiles(registry, time.time, keep_seconds=settings.dm3_registry_seconds)


def _registry_document(objects: Objects, name: str, without: bytes | None) -> bytes:
    try:
        return objects.document(name)
    except KeyError:
        if without is not None:
            return without
        raise NotNowError(Reason.PROFILE_LOOKUP_FAILED, "this delivery service has no registry of names yet") from None
    except ClientError as error:
        raise NotNowError(Reason.STORE_UNAVAILABLE, "the registry of names cannot be read now") from error
