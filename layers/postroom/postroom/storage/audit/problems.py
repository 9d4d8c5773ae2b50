"""The problems that an audit may find, each with a sentence and a remedy."""

from enum import Enum


class AuditProblem(Enum):
    """A state that must never occur: machine code (`value`), `sentence` for people, `remedy`: what to do.

    `grave`: it is certainly wrong; otherwise a note, which an operator should look at.
    """

    sentence: str
    remedy: str
    grave: bool

    def __new__(cls, code: str, sentence: str, remedy: str, grave: bool = True) -> "AuditProblem":
        """Set the machine code as the value, and the rest as attributes."""
        member = object.__new__(cls)
        member._value_ = code
        member.sentence, member.remedy, member.grave = sentence, remedy, grave
        return member

    LOST = (
        "Lost",
        "A message was accepted and is nowhere: no row, no row of a copy, and too few messages in the queues.",
        "Audit again after some minutes: SQS counts late. If it is still lost then, search the functions' logs for "
        "the claim; its sender has to send it again.",
    )
    FILED_TWICE = (
        "FiledTwice",
        "One message was filed in two rows: its owner sees it twice.",
        "The owner acknowledges one of them. It is a bug: report it.",
    )
    DISCARDED_TWICE = (
        "DiscardedTwice",
        "One claim was discarded in two rows: its sender may get Feedback twice.",
        "It is a bug: report it.",
    )
    BOTH = (
        "FiledAndDiscarded",
        "One claim was both filed and discarded: its owner may have it, although its sender got Feedback.",
        "It is a bug: report it.",
    )
    NOT_HOME = (
        "NotHome",
        "A row was filed, but the table `seen` names no row, or another one, for its message: another copy would be "
        "filed again.",
        "Someone wrote to a table, or one table was restored without the other; otherwise it is a bug: report it.",
    )
    ENDS_EARLY = (
        "EndsEarly",
        "A live row has a `ttl`, or the `ttl` of another row ends before its message may be forgotten: the message is"
        " deleted unread, or a copy is filed again.",
        "Someone wrote to a table, or RetainSeconds was raised; correct the `ttl` before DynamoDB deletes the row.",
    )
    MISFILED = (
        "Misfiled",
        "A row is in another mailbox, or has another time, than the message was accepted with.",
        "Someone wrote to a table; the ledger has the right mailbox and time.",
    )
    HIDDEN = (
        "Hidden",
        "A message is filed, and listings leave its row out: its owner does not see it.",
        "Update the row `!head` of its partition in the table `post` by `REMOVE pos, gaps, gaps_gen ADD gen :one`, "
        "with 1: the next listing reads all rows. It is a bug: report it.",
    )
    BYTES_MISSING = (
        "BytesMissing",
        "A row is live, and the bytes that it points to are missing.",
        "Restore the object, if there is a copy of it; otherwise, the sender has to send the message again.",
    )
    BYTES_WRONG = (
        "BytesWrong",
        "A row is live, and the bytes that it points to are not its line, or not the accepted message.",
        "As for BytesMissing; only the functions and the jobs may write to the bucket.",
    )
    NO_REASON = (
        "NoReason",
        "A message is gone, and its row has no known reason.",
        "A newer release or someone else wrote it; audit with the deployed release.",
    )
    FILED_WITH_FEEDBACK = (
        "FiledWithFeedback",
        "Feedback was sent about a message that was filed, or its sending had begun.",
        "It is a bug: report it.",
    )
    REPLY_MISSING = (
        "ReplyMissing",
        "A synchronous request was answered, and the object with its remembered reply is missing.",
        "If the sender repeats the request, it gets no answer until the request is forgotten.",
    )
    UNREADABLE = (
        "Unreadable",
        "A row does not have the format that this release writes.",
        "A newer release or someone else wrote it; audit with the deployed release.",
    )
    NOT_IN_LEDGER = (
        "NotInLedger",
        "A note: a row was received in the time of the ledger, and no line of the ledger has its claim.",
        "An inbox function that died between queueing and logging, or that answered 503 although the message was "
        "queued, causes one now and then. If there are many, the ledger is incomplete, or someone else writes claims "
        "or rows.",
        False,
    )

    def __str__(self) -> str:
        return str(self.value)
