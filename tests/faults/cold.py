"""What makes a start cold in a process that has run functions before: clients that are made once, and emptied."""

from typing import Any

import boto3
from botocore.retries import quota


class Clients:
    """Takes the place of `boto3.client`: a client is made once, since that takes longer than most runs.

    Until `empty` a client that is asked for again is the one before. What a client holds of what it met are its
    connections, and how many more tries the SDK grants it.
    """

    def __init__(self) -> None:
        self._really = boto3.client
        self._made: dict[tuple[str, int], Any] = {}
        self._configs: list[object] = []
        self._quotas: list[quota.RetryQuota] = []
        self._really_quota = quota.RetryQuota

    def install(self) -> None:
        """For this process and those that it forks."""
        boto3.client = self
        quota.RetryQuota = self._quota

    def __call__(self, service: str, config: object = None) -> Any:
        key = (service, id(config))
        if key not in self._made:
            # Kept: another in its place could have its id.
            self._configs.append(config)
            self._made[key] = client = self._really(service, config=config)
            _register_once(client)
        return self._made[key]

    def empty(self) -> None:
        """All clients are as if they had just been made."""
        for client in self._made.values():
            client.close()
        for each in self._quotas:
            self._really_quota.__init__(each)

    def _quota(self) -> quota.RetryQuota:
        self._quotas.append(self._really_quota())
        return self._quotas[-1]


def _register_once(client: Any) -> None:
    """Functions register their handlers with a client whenever they start: one after the other, with the same."""
    events = client.meta.events
    really, known = events.register, set()

    def register(event: str, handler: Any) -> None:
        if (event, handler) not in known:
            known.add((event, handler))
            really(event, handler)

    events.register = register
