"""AWS clients that are created once for each function, and reset to a new state for each cold start."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import boto3
from botocore.retries import quota

_really_a_quota = quota.RetryQuota


@dataclass
class Clients:
    """Replaces `boto3.client`, because creating a client takes longer than most runs.

    The state of a client: its connections, the SDK's retry quota, and the registered event handlers. `whose`: the
    current function; functions share no clients.
    """

    whose: str = ""
    _really: Callable[..., Any] = field(default_factory=lambda: boto3.client)
    _made: dict[tuple[str, str, int], Any] = field(default_factory=dict)
    _configs: list[object] = field(default_factory=list)
    """Kept, because the id of a deleted client could be used again."""
    _registered: list[tuple[Any, tuple[Any, ...]]] = field(default_factory=list)
    _quotas: list[Any] = field(default_factory=list)

    def install(self) -> None:
        """Replace `boto3.client`, in this process and those that it forks."""
        vars(boto3)["client"] = self.client
        vars(quota)["RetryQuota"] = self._quota

    def client(self, service: str, config: object = None) -> Any:
        """The client of a service, which may have been created before."""
        key = (self.whose, service, id(config))
        if key not in self._made:
            self._configs.append(config)
            self._made[key] = self._really(service, config=config)
            self._watch(self._made[key].meta.events)
        return self._made[key]

    def empty(self) -> None:
        """Reset all clients to the state of new ones."""
        for client in self._made.values():
            client.close()
        for each in self._quotas:
            each.__init__()
        for events, registered in self._registered:
            events.unregister(*registered)
        self._registered.clear()

    def _watch(self, events: Any) -> None:
        register = events.register

        def watched(*what: Any) -> None:
            register(*what)
            self._registered.append((events, what))

        events.register = watched

    def _quota(self) -> Any:
        self._quotas.append(_really_a_quota())
        return self._quotas[-1]
