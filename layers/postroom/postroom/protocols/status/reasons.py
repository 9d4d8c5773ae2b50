"""Reasons of Status payloads. Each is a chat client's own: nothing is answered to the author."""

from postroom.core.reason import CLIENTS, discard

# fmt: off
WRAPPER_INVALID = discard("WrapperInvalid", 200, CLIENTS, 'Status 6/PAYLOADS: Payload wrapper; decision "Wrappers"',
    "The bytes are not a wrapper of Status with a payload in it.")
PAYLOAD_TYPE_UNKNOWN = discard("PayloadTypeUnknown", 200, CLIENTS,
    'Status 6/PAYLOADS: Payload wrapper; decision "Wrappers"',
    "The wrapper does not say the type of its payload, and nothing beside it does.")
PAYLOAD_INVALID = discard("PayloadInvalid", 200, CLIENTS, 'Status 6/PAYLOADS: Types of messages; decision "Payloads"',
    "The payload is not a message of its type, or has missing or malformed fields.")
AUTHOR_UNKNOWN = discard("AuthorUnknown", 200, CLIENTS, 'Status 6/PAYLOADS: Payload wrapper; decision "Authors"',
    "The wrapper is not signed, and no carrier proves who sent it.")
AUTHOR_SIGNATURE_INVALID = discard("AuthorSignatureInvalid", 200, CLIENTS,
    'Status 6/PAYLOADS: Payload wrapper; decision "Authors"',
    "The author's signature is none: no key can have made it.")
AUTHOR_NOT_CARRIER = discard("AuthorNotCarrier", 200, CLIENTS,
    'Status 6/PAYLOADS: Payload wrapper; decision "Authors"',
    "The author is not the sender of the message that carries it; only messages of public chats may be passed on.")
NOT_FROM_OWN_KEY = discard("NotFromOwnKey", 200, CLIENTS,
    'Status 6/PAYLOADS: SyncInstallationContact; decision "Authors"',
    "A message between devices of one user came from somebody else.")
WRITTEN_TO_ANOTHER = discard("WrittenToAnother", 200, CLIENTS, 'Status 6/PAYLOADS: Chats; decision "Chats"',
    "The message was written to another user, and passed on.")
CLOCK_INVALID = discard("ClockInvalid", 200, CLIENTS, 'Status 6/PAYLOADS: Clock vs Timestamp; decision "Clocks"',
    "A clock must be above 0 and below 2^63.")
CLOCK_AHEAD = discard("ClockAhead", 200, CLIENTS, 'Status 6/PAYLOADS: Clock vs Timestamp; decision "Clocks"',
    "The clock is more than 120 seconds ahead of the time at which the message came.")
TEXT_INVALID = discard("TextInvalid", 200, CLIENTS, 'Status 6/PAYLOADS: ChatMessage; decision "Payloads"',
    "The text is blank or too long.")
CHAT_INVALID = discard("ChatInvalid", 200, CLIENTS, 'Status 6/PAYLOADS: Chats; decision "Chats"',
    "The chat ID is none of the message's kind of chat.")
CHAT_UNKNOWN = discard("ChatUnknown", 200, CLIENTS, 'Status 6/PAYLOADS: Chats; decision "Chats"',
    "The user is not in this chat, or its author was not in it at that time.")
MEMBERSHIP_INVALID = discard("MembershipInvalid", 200, CLIENTS, 'Status 7/GROUP-CHAT; decision "Groups"',
    "A change of a group's members is not valid.")
MEDIA_INVALID = discard("MediaInvalid", 200, CLIENTS,
    'Status 6/PAYLOADS: Image content type, Audio content type; decision "Media"',
    "The picture or the sound is not what its type says, or is damaged.")
MEDIA_TOO_LARGE = discard("MediaTooLarge", 200, CLIENTS,
    'Status 6/PAYLOADS: Image content type, Audio content type; decision "Media"',
    "The picture or the sound is above our limits.")
