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
        "Audit again after some minutes: SQS counts late. If it stays, the functions' logs tell of the claim; "
        "its sender has to send it again.",
    )
    FILED_TWICE = (
        "FiledTwice",
        "One message was filed in two rows: its owner is shown it twice.",
        "The owner acknowledges one of them. It is a bug: report it.",
    )
    DISCARDED_TWICE = (
        "DiscardedTwice",
        "One claim was discarded in two rows: its sender may be told twice.",
        "It is a bug: report it.",
    )
    BOTH = (
        "FiledAndDiscarded",
        "One claim was both filed and discarded: its owner may have it, and its sender be told otherwise.",
        "It is a bug: report it.",
    )
    NOT_HOME = (
        "NotHome",
        "A row was filed that is the home of no remembered message: another copy would be filed once more.",
        "Somebody wrote into a table, or one was restored without the other; else it is a bug: report it.",
    )
    ENDS_EARLY = (
        "EndsEarly",
        "A live row has an end (`ttl`), or another row's is over before its message may be forgotten: it goes unread, "
        "or is filed once more.",
        "Somebody wrote into a table, or RetainSeconds was raised; put the `ttl` right before DynamoDB sweeps the row.",
    )
    MISFILED = (
        "Misfiled",
        "A row stands in another mailbox, or at another time, than its message was accepted for.",
        "Somebody wrote into a table; the ledger says where the message belongs.",
    )
    BYTES_MISSING = (
        "BytesMissing",
        "A row is live, and the bytes that it points to are gone.",
        "Restore the object, if there is a copy of it; else its sender has to send it again.",
    )
    BYTES_WRONG = (
        "BytesWrong",
        "A row is live, and the bytes that it points to are not its line, or not that of the accepted message.",
        "As for BytesMissing; nobody but the functions may write into the bucket.",
    )
    NO_REASON = (
        "NoReason",
        "A message is gone, and its row gives no reason that is known.",
        "A newer release or somebody else wrote it; audit with the release that is deployed.",
    )
    TOLD_THOUGH_KEPT = (
        "ToldThoughKept",
        "A row that is not discarded says that its sender was told of a discard.",
        "It is a bug: report it.",
    )
    REPLY_MISSING = (
        "ReplyMissing",
        "A synchronous request was answered, and the object of its remembered reply is gone.",
        "Who asks again gets no answer until the request is forgotten.",
    )
    UNREADABLE = (
        "Unreadable",
        "A row is not of the form that this release writes.",
        "A newer release or somebody else wrote it; audit with the release that is deployed.",
    )
    NOT_IN_LEDGER = (
        "NotInLedger",
        "A note: a row is of the ledger's time, and no line of the ledger tells of its claim.",
        "A door that died between queue and log, or answered 503 to what was queued all the same, leaves one now and "
        "then. If there are many, the ledger is not whole, or somebody else writes claims or rows.",
        False,
    )

    def __str__(self) -> str:
        return str(self.value)
