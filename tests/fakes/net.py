"""An HTTPS client for tests."""

from dataclasses import dataclass, field

from postroom.core.errors import NotNowError
from postroom.core.reasons import OUTBOUND_FAILED
from postroom.net.https import HttpsResponse, NoSuchHostError


@dataclass
class FakeHttps:
    """All other hosts. `pages`: status and body, or an error, by URL; hosts of other URLs do not exist.

    `replies`: the responses to the next POST requests. `fetched`: the URLs of GET requests, and `seconds` their time
    limits. `posted`: (URL, body) of POST requests.
    """

    pages: dict[str, tuple[int, bytes] | NotNowError] = field(default_factory=dict)
    replies: list[HttpsResponse] = field(default_factory=list)
    fetched: list[str] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    posted: list[tuple[str, bytes]] = field(default_factory=list)

    def get(self, url: str, accept: str, seconds: float) -> HttpsResponse:
        """The page. Raises the error in its place, or NoSuchHostError."""
        self.fetched.append(url)
        self.seconds.append(seconds)
        page = self.pages.get(url, NoSuchHostError(OUTBOUND_FAILED, f"{url.split('/')[2]} does not exist"))
        if isinstance(page, NotNowError):
            raise page
        return HttpsResponse(page[0], {}, page[1])

    def post(self, url: str, body: bytes, content_type: str) -> HttpsResponse:
        """The next reply."""
        self.posted.append((url, body))
        return self.replies.pop(0)
