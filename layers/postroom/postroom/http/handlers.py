"""The other handlers of the mailbox API, in groups: each reads a request, calls a service, and responds."""

from collections.abc import Callable, Mapping
from hashlib import sha256

from postroom.api.http import JSON, MERGE_PATCH
from postroom.api.openapi import document
from postroom.api.schemas import (
    ChallengeQuery,
    Code,
    ContainersQuery,
    NewMessage,
    NewTarget,
    Parts,
    SentQuery,
    SettingsChange,
    SignedChallenge,
    SignedOut,
    SignedProfile,
)
from postroom.core.timestamps import write_timestamp
from postroom.http.containers import ContainerService
from postroom.http.notification_targets import NotificationTargetSettings
from postroom.http.outbox import OutboxService
from postroom.http.preferences import Preferences
from postroom.http.private_responses import not_modified, respond, respond_json
from postroom.http.registration import SelfRegistration
from postroom.http.request_parts import is_known, read_body, read_query
from postroom.http.response import HttpResponse
from postroom.http.router import Handler, RoutedRequest
from postroom.http.sign_in import SignIn
from postroom.storage.directory.mailboxes import Mailboxes


class SignInHandlers:
    """Sign-in, sign-out and self-registration. `clock`: epoch seconds."""

    def __init__(
        self, *, sign_in: SignIn, opening: SelfRegistration, mailboxes: Mailboxes, clock: Callable[[], float]
    ) -> None:
        self._sign_in = sign_in
        self._opening = opening
        self._mailboxes = mailboxes
        self._clock = clock

    def handlers(self) -> Mapping[str, Handler]:
        """The handlers by operation id."""
        return {
            "challenge": self.challenge,
            "token": self.token,
            "open": self.open,
            "submit_profile": self.submit_profile,
            "sign_out": self.sign_out,
        }

    def challenge(self, call: RoutedRequest) -> HttpResponse:
        """A challenge, as a JSON string like in dm3's reference."""
        purpose = read_query(call.request.query, ChallengeQuery).purpose
        return respond(self._sign_in.challenge(call.mailbox, call.request.host, purpose))

    def token(self, call: RoutedRequest) -> HttpResponse:
        """A token, as a JSON string like in dm3's reference."""
        signed = read_body(call.request, "application/json", SignedChallenge)
        return respond(self._sign_in.token(call.mailbox, call.request.host, signed.challenge, signed.signature))

    def open(self, call: RoutedRequest) -> HttpResponse:
        """A token of a mailbox that is opened, as a JSON string."""
        signed = read_body(call.request, "application/json", SignedChallenge)
        return respond(self._opening.open(call.mailbox, call.request.host, signed.challenge, signed.signature))

    def submit_profile(self, call: RoutedRequest) -> HttpResponse:
        """An empty JSON string, instead of the token of dm3's reference: its clients sign in once that token is
        refused."""
        self._opening.open_published(call.mailbox, read_body(call.request, "application/json", SignedProfile).profile)
        return respond("")

    def sign_out(self, call: RoutedRequest) -> HttpResponse:
        """Sign out on all devices."""
        now = self._clock()
        self._mailboxes.revoke_tokens(call.mailbox, int(now))
        return respond(SignedOut(write_timestamp(int(now * 1000))))


class OutboxHandlers:
    """Sending messages."""

    def __init__(self, sending: OutboxService) -> None:
        self._sending = sending

    def handlers(self) -> Mapping[str, Handler]:
        """The handlers by operation id."""
        return {
            "send": self.send,
            "sent": self.sent,
            "sent_one": self.sent_one,
        }

    def send(self, call: RoutedRequest) -> HttpResponse:
        """Accept a message, once it is in the courier's queue."""
        return respond(self._sending.send(call.mailbox, read_body(call.request, "application/json", NewMessage)))

    def sent(self, call: RoutedRequest) -> HttpResponse:
        """A page of sent messages."""
        wanted = read_query(call.request.query, SentQuery)
        return respond(self._sending.page(call.mailbox, wanted.after, wanted.limit))

    def sent_one(self, call: RoutedRequest) -> HttpResponse:
        """One sent message, by its Correlation."""
        return respond(self._sending.one(call.mailbox, call.id))


class NotificationHandlers:
    """Notification targets."""

    def __init__(self, targets: NotificationTargetSettings) -> None:
        self._targets = targets

    def handlers(self) -> Mapping[str, Handler]:
        """The handlers by operation id."""
        return {
            "targets": self.targets,
            "add_target": self.add_target,
            "remove_target": self.remove_target,
            "verify_target": self.verify_target,
            "rotate_target": self.rotate_target,
            "resume_target": self.resume_target,
        }

    def targets(self, call: RoutedRequest) -> HttpResponse:
        """All targets."""
        return respond(self._targets.all(call.mailbox))

    def add_target(self, call: RoutedRequest) -> HttpResponse:
        """Add a target; the response has its secret."""
        return respond(self._targets.add(call.mailbox, read_body(call.request, "application/json", NewTarget)))

    def remove_target(self, call: RoutedRequest) -> HttpResponse:
        """Remove a target; the response is empty."""
        self._targets.remove(call.mailbox, call.id)
        return respond(None)

    def verify_target(self, call: RoutedRequest) -> HttpResponse:
        """Verify a target, and return it."""
        code = read_body(call.request, "application/json", Code).code
        return respond(self._targets.verify(call.mailbox, call.id, code))

    def rotate_target(self, call: RoutedRequest) -> HttpResponse:
        """Give a target a new secret, and return it."""
        return respond(self._targets.rotate(call.mailbox, call.id))

    def resume_target(self, call: RoutedRequest) -> HttpResponse:
        """Resume a target, and return it."""
        return respond(self._targets.resume(call.mailbox, call.id))


class ContainerHandlers:
    """Containers of archives."""

    def __init__(self, storing: ContainerService) -> None:
        self._storing = storing

    def handlers(self) -> Mapping[str, Handler]:
        """The handlers by operation id."""
        return {
            "storage": self.storage,
            "containers": self.containers,
            "container": self.container,
            "put_container": self.put_container,
            "join_parts": self.join_parts,
            "delete_container": self.delete_container,
            "add_part": self.add_part,
        }

    def storage(self, call: RoutedRequest) -> HttpResponse:
        """The usage of the storage."""
        return respond(self._storing.use(call.mailbox))

    def containers(self, call: RoutedRequest) -> HttpResponse:
        """A page of containers."""
        wanted = read_query(call.request.query, ContainersQuery)
        return respond(self._storing.page(call.mailbox, wanted.after, wanted.limit))

    def container(self, call: RoutedRequest) -> HttpResponse:
        """One container, by its key, or a part of it."""
        return self._storing.container(call.mailbox, call.id, call.request)

    def put_container(self, call: RoutedRequest) -> HttpResponse:
        """Store the body as a container."""
        kept, etag = self._storing.put(call.mailbox, call.id, call.request)
        return respond(kept, {"ETag": etag})

    def join_parts(self, call: RoutedRequest) -> HttpResponse:
        """Join the parts that the body names."""
        wanted = read_body(call.request, JSON, Parts)
        kept, etag = self._storing.join(call.mailbox, call.id, call.request.headers, wanted)
        return respond(kept, {"ETag": etag})

    def delete_container(self, call: RoutedRequest) -> HttpResponse:
        """Delete a container, if nobody has changed it meanwhile."""
        self._storing.delete(call.mailbox, call.id, call.request.headers)
        return respond(None)

    def add_part(self, call: RoutedRequest) -> HttpResponse:
        """Store a part of a future container."""
        return respond(self._storing.add_part(call.mailbox, call.request))


class SettingsHandlers:
    """The settings of owners."""

    def __init__(self, preferences: Preferences) -> None:
        self._preferences = preferences

    def handlers(self) -> Mapping[str, Handler]:
        """The handlers by operation id."""
        return {
            "settings": self.settings,
            "change_settings": self.change_settings,
        }

    def settings(self, call: RoutedRequest) -> HttpResponse:
        """The owner's settings and their ETag."""
        settings, etag = self._preferences.get(call.mailbox)
        return respond(settings, {"ETag": etag})

    def change_settings(self, call: RoutedRequest) -> HttpResponse:
        """Change some settings, if nobody has changed them meanwhile."""
        change = read_body(call.request, MERGE_PATCH, SettingsChange)
        settings, etag = self._preferences.change(call.mailbox, change, call.request.headers.get("if-match", ""))
        return respond(settings, {"ETag": etag})


class AboutHandlers:
    """The API's own description."""

    def handlers(self) -> Mapping[str, Handler]:
        """The handlers by operation id."""
        return {"openapi": self.openapi}

    def openapi(self, call: RoutedRequest) -> HttpResponse:
        """The OpenAPI document."""
        data = document()
        etag = f'"{sha256(data).hexdigest()[:32]}"'
        if is_known(call.request.headers.get("if-none-match", ""), etag):
            return not_modified(etag)
        return respond_json(data, {"ETag": etag, "Cache-Control": "max-age=300"})
