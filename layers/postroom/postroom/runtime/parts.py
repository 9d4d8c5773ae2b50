"""The base of a deployment's parts."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from postroom.runtime.deployment import Deployment
    from postroom.runtime.name_parts import NameParts
    from postroom.runtime.storage_parts import StorageParts


class DeploymentParts:
    """Some objects of a deployment, made of its settings, its clients and its other parts."""

    def __init__(self, deployment: "Deployment") -> None:
        self._deployment = deployment
        self._settings = deployment.settings
        self._clients = deployment.clients
        self._own_faults = deployment.own_faults
        self._system = deployment.system

    @property
    def _storage(self) -> "StorageParts":
        return self._deployment.storage

    @property
    def _names(self) -> "NameParts":
        return self._deployment.names
