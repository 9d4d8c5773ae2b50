"""dm3 messages to the receiver's deployment, with keys that need not be the sender's, and what became of them."""

from collections.abc import Mapping
from dataclasses import dataclass

from postroom.client import SendOutcome
from postroom.client.dm3 import Attempt, Dm3Draft, Dm3Sender, Dm3Sent
from postroom.core.reason import Reason
from postroom.demo.checks import expect
from postroom.demo.deployment import DemoDeployment, until
from postroom.demo.names import BOB
from postroom.net.https import HttpsClient
from postroom.protocols.dm3.codes import UNAVAILABLE
from postroom.protocols.dm3.explain import ExplainedProfiles
from postroom.protocols.dm3.keys import UserKeys
from postroom.protocols.dm3.reasons import PROFILE_LOOKUP_FAILED
from postroom.storage.mail.reader import Filed


@dataclass(frozen=True)
class Submissions:
    """Submits messages. `profiles`: of receivers and delivery services, as senders look them up."""

    receiver: DemoDeployment
    https: HttpsClient
    profiles: ExplainedProfiles

    def accepted(self, name: str, keys: UserKeys, *, to: str = BOB, meanwhile: Reason | None = None) -> Filed:
        """A message as it is filed, verified with these keys.

        It is sent until it is accepted: a look-up may have been too slow, or be left alone for a while. `meanwhile`:
        the reason for which it may be refused until then, by what is known from before.
        """

        def attempt() -> Dm3Sent | None:
            sent = self._send(name, keys, to)
            may_change = sent.fate is not SendOutcome.REFUSED or sent.attempts[-1].reason == str(meanwhile)
            expect(may_change, f"the message of {name} is accepted", sent.attempts)
            return sent if sent.fate is SendOutcome.TAKEN else None

        sent = until(f"the message of {name} is accepted", attempt)
        filed = until("the message is filed", lambda: self._find(sent, to))
        receipt = filed.line.receipt
        verified = receipt["key_fingerprint"] == keys.signing.public.fingerprint and receipt["unverified"] is None
        expect(verified, f"the message of {name} is verified with its key", receipt)
        return filed

    def refused(self, name: str, keys: UserKeys, reason: Reason, *, to: str = BOB) -> Attempt:
        """What was answered to a message that is refused for a reason."""

        def attempt() -> Attempt | None:
            last = self._send(name, keys, to).attempts[-1]
            return None if last.fate is SendOutcome.NOT_NOW else last

        last = until(f"the message of {name} is refused", attempt)
        expect(last.reason == str(reason), f"the message of {name} is refused as {reason}", last)
        return last

    def not_believed(self, name: str, keys: UserKeys, because: str) -> Attempt:
        """What was answered to a message that may be sent again: nothing that was said of the name is believed.

        `because`: what the answer says. On a busy machine, it may say at first that there was no time.
        """

        def attempt() -> Attempt | None:
            last = self._send(name, keys, BOB).attempts[-1]
            expected = (UNAVAILABLE, str(PROFILE_LOOKUP_FAILED))
            expect((last.code, last.reason) == expected, f"nothing that is said of {name} is believed", last)
            return last if because in last.detail else None

        return until(f"the message of {name} is answered with: {because}", attempt)

    def _send(self, name: str, keys: UserKeys, to: str) -> Dm3Sent:
        return Dm3Sender(name, keys, self.profiles, self.https).send(Dm3Draft(to, "Good morning"))

    def _find(self, sent: Dm3Sent, mailbox: str) -> Filed | None:
        filed = self.receiver.filed(mailbox)
        return next((each for each in filed if each.line.receipt["message_hash"] == sent.message_hash), None)


def evidence_of(receipt: Mapping[str, object]) -> Mapping[str, object]:
    """How the sender's profile was found, by the receipt of a message."""
    evidence = receipt["evidence"]
    return evidence if isinstance(evidence, dict) else {}


def answer_of(attempt: Attempt) -> str:
    """The code and the reason of a refusal."""
    return f"{attempt.code} {attempt.reason}"
