"""A bucket for tests."""

from collections.abc import Mapping

from postroom.storage.aws.object_store import ObjectStore


class FakeObjects(ObjectStore):
    """A bucket in memory, whole objects only. `held`: the bytes of each object."""

    def __init__(self, held: Mapping[str, bytes] | None = None) -> None:
        self.held = dict(held or {})

    def put(self, name: str, data: bytes, content_type: str = "application/jsonl") -> None:
        """Store an object."""
        self.held[name] = data

    def find(self, name: str) -> bytes | None:
        """The bytes of an object, or None."""
        return self.held.get(name)

    def get(self, name: str) -> bytes:
        """The bytes of an object. Raises KeyError if there is none."""
        return self.held[name]
