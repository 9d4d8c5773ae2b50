"""Clients of AWS that are made once for each function, and are as if just made whenever it starts cold."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import boto3
from botocore.retries import quota

_really_a_quota = quota.RetryQuota


@dataclass
class Clients:
    """Takes the place of `boto3.client`: making a client takes longer than most runs.

    What a client holds of what it met are its connections, how many more tries the SDK grants it, and what was
    registered with it. `whose`: the function that asks now; none has a client of another.
    """

    whose: str = ""
    _really: Callable[..., Any] = field(default_factory=lambda: boto3.client)
    _made: dict[tuple[str, str, int], Any] = field(default_factory=dict)
    _configs: list[object] = field(default_factory=list)
    """Kept: another in the place of one could have its id."""
    _registered: list[tuple[Any, tuple[Any, ...]]] = field(default_factory=list)
    _quotas: list[Any] = field(default_factory=list)

    def install(self) -> None:
        """For this process and those that it forks."""
        vars(boto3)["client"] = self.client
        vars(quota)["RetryQuota"] = self._quota

    def client(self, service: str, config: object = None) -> Any:
        """The client, which may have been made before."""
        key = (self.whose, service, id(config))
        if key not in self._made:
            self._configs.append(config)
            self._made[key] = self._really(service, config=config)
            self._watch(self._made[key].meta.events)
        return self._made[key]

    def empty(self) -> None:
        """All clients are as if they had just been made."""
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
