"""Sending through the outbox of a mailbox: its post office signs, sends, and tries again."""

import json
from base64 import b64encode
from collections.abc import Mapping
from urllib.parse import urlsplit

from postroom.client.challenge import check_challenge
from postroom.client.sending import Sent, read_answer
from postroom.https import HttpsClient
from postroom.ijson import JsonValue
from postroom.nlweb.keys import PrivateKey

_JSON = "application/json"


class OutboxClient:
    """The outbox of `mailbox` at `url` (https://host). `key`: an owner's, as the post office knows it."""

    def __init__(self, https: HttpsClient, url: str, mailbox: str, key: PrivateKey) -> None:
        self._https = https
        self._url = url.rstrip("/")
        self._mailbox = mailbox
        self._key = key
        self._token = ""

    def sign_in(self) -> Sent:
        """The answer to signing in; unless it is `Fate.TAKEN`, nothing else will be.

        Raises NotNowError(OUTBOUND_FAILED), ChallengeError.
        """
        url = f"{self._url}/auth/{self._mailbox}"
        asked = read_answer(self._https.get(url, _JSON))
        if not isinstance(asked.reply, str) or asked.status != 200:
            return asked
        check_challenge(asked.reply, urlsplit(self._url).hostname or "", self._mailbox)
        signature = b64encode(self._key.sign(asked.reply.encode())).decode()
        given = self._post(url, {"challenge": asked.reply, "signature": signature})
        self._token = given.reply if isinstance(given.reply, str) else ""
        return given

    def send(self, message: Mapping[str, JsonValue]) -> Sent:
        """The answer to a message (counter.shapes.NewMessage), `Sent.reply` its state. Raises NotNowError."""
        return self._post(self._outbox(), message)

    def find(self, correlation: str) -> Sent:
        """What became of a message. Raises NotNowError(OUTBOUND_FAILED)."""
        return read_answer(self._https.get(f"{self._outbox()}/{correlation}", _JSON, bearer=self._token))

    def _post(self, url: str, value: Mapping[str, JsonValue]) -> Sent:
        return read_answer(self._https.post(url, json.dumps(value).encode(), _JSON, bearer=self._token))

    def _outbox(self) -> str:
        return f"{self._url}/mailboxes/{self._mailbox}/outbox"
