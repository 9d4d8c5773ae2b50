"""An HTTPS client for tests."""

from dataclasses import dataclass, field

from postroom.core.errors import NotNowError
from postroom.core.reasons import OUTBOUND_FAILED
from postroom.net.https import HttpsResponse, NoSuchHostError


@dataclass
class FakeHttps:
    """All other hosts. `pages`: by URL, status and body, or an error; the host of any other URL does not exist.

    `replies`: the responses to the POST requests to come. `fetched`: the URLs of the GET requests. `posted`: (url,
    body).
    """

    pages: dict[str, tuple[int, bytes] | NotNowError] = field(default_factory=dict)
    replies: list[HttpsResponse] = field(default_factory=list)
    fetched: list[str] = field(default_factory=list)
    posted: list[tuple[str, bytes]] = field(default_factory=list)

    def get(self, url: str, accept: str) -> HttpsResponse:
        """The page, NoSuchHostError, or the error that is there in its place."""
        self.fetched.append(url)
        page = self.pages.get(url, NoSuchHostError(OUTBOUND_FAILED, f"{url.split('/')[2]} does not exist"))
        if isinstance(page, NotNowError):
            raise page
        return HttpsResponse(page[0], {}, page[1])

    def post(self, url: str, body: bytes, content_type: str) -> HttpsResponse:
        """The next reply."""
        self.posted.append((url, body))
        return self.replies.pop(0)
