"""web3.py's look-up of a text, timed here; tests/peers/ens/web3_packages.py says where its packages are."""

import time

from tests.peers.ens.web3_peer import ens_at
from tests.peers.lines import serve


class TimedLookUps:
    """Look-ups over one connection."""

    def __init__(self) -> None:
        self._names = {}

    def seconds(self, client: str, url: str, name: str, key: str, number: int) -> float:
        """The processor time of so many look-ups. `client`: web3.py."""
        assert client == "web3.py"
        names = self._names.setdefault(url, ens_at(url))
        begin = time.process_time()
        for _ in range(number):
            assert names.get_text(name, key)
        return time.process_time() - begin


if __name__ == "__main__":
    serve({"ens.seconds": TimedLookUps().seconds})
