"""All limits: what others can make larger, how much is accepted, why, and the test."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import httpcore
from tests.aws import function, resources, template

from postroom.api import schemas
from postroom.client.chat import pictures
from postroom.client.chat.carried_wrapper import MAX_NAMES
from postroom.core import ijson, loading_cache, settings, side_by_side
from postroom.core.ens_names import MAX_NAME_BYTES
from postroom.crypto import ethereum, keystore
from postroom.crypto import rsa_ed25519 as nlweb_keys
from postroom.http import (
    containers,
    dcp_service,
    mail_handlers,
    message_listing,
    nlweb_settings,
    rate_limit,
    registration,
    response,
    sign_in,
    tokens,
    waits,
)
from postroom.http.notification_targets import CODES_A_DAY, MAX_TRIES
from postroom.names import (
    accounts,
    dns_registry,
    documents,
    ens_registry,
    failing_names,
    host_addresses,
    keys,
    manifest,
    profile_documents,
    profiles,
    registry,
    uris,
)
from postroom.names import silent_zones as silent_zones_of_names
from postroom.names.dns import wire
from postroom.names.dnssec import budget, evidence, nsec3, rrsets, signatures
from postroom.names.dnssec.proofs import MAX_DENIERS, MAX_SIGNERS
from postroom.names.dnssec.walk import MAX_ALIASES
from postroom.names.dnssec.zones import MAX_ABSENT_SECONDS, MOST_BYTES, MOST_DENIALS, MOST_ZONES
from postroom.names.ens import ccip, rpc
from postroom.names.ens import lookup as ens_lookup
from postroom.names.ipfs import car, unixfs, uri
from postroom.net import endpoint_client, failing_addresses, https, pinned_connection
from postroom.outbound import backoff, feedback_buffers, feedback_sender, outbox_sender, pausing
from postroom.pipeline import dead_letters, dm3_inbox, look_ups, nlweb_inbox, silent_zones, worker
from postroom.protocols.dcp import connect, memory_store, messages, receiving, session_names, signed_message
from postroom.protocols.dm3 import extension, jsonrpc, message, profile
from postroom.protocols.nlweb import envelope, feedback, key_record
from postroom.protocols.nlweb import names as nlweb_names
from postroom.protocols.status import chats, checks, clock, fold, membership, wrapper
from postroom.protocols.status import messages as chat_messages
from postroom.protocols.status.media import MediaLimits, jpeg
from postroom.runtime import function_clients, pipeline_parts, socket_events
from postroom.storage.aws import object_store, queue
from postroom.storage.directory import notification_targets
from postroom.storage.limits import dcp_sessions, held_runs
from postroom.storage.mail import head, replies
from postroom.storage.secrets import secret, webhook_keys

AT = settings.DeploymentSettings()
TIMES = keys.KeepTimes()


class Bound(NamedTuple):
    """`most`: as the code has it. `beyond`: a reason, or what happens. `test`: `<file>::<function>` below tests/."""

    what: str
    most: str
    why: str
    beyond: str
    precedent: str
    test: str


def _n(number: float, unit: str = "") -> str:
    return f"{number:,g} {unit}".strip() if isinstance(number, float) else f"{number:,} {unit}".strip()


def _parameter(name: str) -> int:
    return int(template()["Parameters"][name]["Default"])


def _run(name: str) -> str:
    return _n(int(function(name)["Timeout"]), "s")


def _memory(name: str) -> str:
    return _n(int(function(name)["MemorySize"]), "MB")


def _source(name: str) -> Any:
    [found] = [
        event["Properties"]
        for properties in resources("AWS::Serverless::Function").values()
        for event_name, event in properties["Events"].items()
        if event_name == name
    ]
    return found


def _receives(queue: str) -> int:
    return int(resources("AWS::SQS::Queue")[queue]["RedrivePolicy"]["maxReceiveCount"])


def _counter() -> Iterator[Bound]:
    yield Bound(
        "a challenge, and a token", _n(tokens.MAX_TOKEN_CHARACTERS, "characters"), "parsed for anyone who sends one",
        "`ChallengeInvalid`, `TokenInvalid`", "nginx large_client_header_buffers: 8 kB a header",
        "http/test_sign_in.py::test_a_malformed_token_is_invalid",
    )  # fmt: skip
    yield Bound(
        "a challenge's life", _n(tokens.CHALLENGE_SECONDS, "s"), "a stolen one can be signed for this long",
        "`ChallengeInvalid`", "dm3's reference: 900 s",
        "http/test_sign_in.py::test_a_challenge_is_valid_for_two_minutes",
    )  # fmt: skip
    yield Bound(
        "a token's life", _n(tokens.TOKEN_SECONDS, "s"), "a stolen one can be used for this long",
        "`TokenInvalid`", "dm3's reference: 3,600 s", "http/test_sign_in.py::test_a_token_is_valid_for_an_hour",
    )  # fmt: skip
    yield Bound(
        "a signature", _n(sign_in.MAX_SIGNATURE_CHARACTERS, "characters"), "one of RSA with 8,192 bits has 1,368",
        "`NotTheOwner`, `NotARequest`", "nginx large_client_header_buffers: 8 kB a header",
        "http/test_sign_in.py::test_an_invalid_signature_does_not_sign_in",
    )  # fmt: skip
    yield Bound(
        "requests of a mailbox", f"{_n(AT.mailbox_api_requests_per_second)} a second at an instance, saved up for "
        f"{rate_limit.BURST_SECONDS} s", "a faulty program costs its owner money", "`TooManyRequests`",
        "GitHub's REST API: 15 a second", "http/test_message_listing.py::"
        "test_too_many_requests_of_a_mailbox_get_429",
    )  # fmt: skip
    yield Bound(
        "messages of a page", _n(schemas.MAX_PAGE_MESSAGES), "each is looked up and fetched", "`NotARequest`",
        "Gmail API: 500", "http/test_message_listing.py::test_an_invalid_query_is_refused",
    )  # fmt: skip
    yield Bound(
        "bytes of a page", _n(schemas.MAX_PAGE_BYTES), "Lambda returns 6 MB, and this is base64 by then",
        "`NotARequest`",
        "Lambda: 6 MB", "functions/test_mailbox.py::test_the_largest_page_of_all_is_one_that_lambda_can_return",
    )  # fmt: skip
    yield Bound(
        "a message in a page, or a part of one", _n(message_listing.MAX_MESSAGE_BYTES, "bytes"), "the same",
        "its envelope is fetched by itself, in parts; `RangeUnsatisfiable`", "Lambda: 6 MB",
        "http/test_message_listing.py::test_an_envelope_too_large_for_a_response_is_read_by_ranges",
    )  # fmt: skip
    yield Bound(
        "waiting for a message", _n(schemas.MAX_WAIT_SECONDS, "s"), "it holds a run, and looks once a second",
        "`NotARequest`", "SQS WaitTimeSeconds: 20 s",
        "test_template.py::test_a_request_that_waits_for_a_message_is_answered_before_anything_times_out",
    )  # fmt: skip
    yield Bound(
        "concurrent executions of the mailbox API", _n(_parameter("MailboxApiReservedConcurrency")),
        "they are separate from those of inbox and workers",
        "API Gateway answers 503", "Lambda: 1,000 in an account",
        "test_template.py::test_waiting_requests_use_no_concurrency_of_the_inbox_or_the_worker",
    )  # fmt: skip
    most_waits = waits.most_waits(AT.mailbox_api_reserved_concurrency)
    yield Bound(
        "requests that wait for a message", f"{_n(most_waits)}: half of the concurrent executions; "
        f"{_n(waits.UNRESERVED)} if none are reserved", "the others sign in, list and acknowledge",
        "an empty page at once, with Retry-After", "none",
        "http/test_waits.py::test_beside_twelve_waits_of_a_mailbox_others_sign_in_and_wait",
    )  # fmt: skip
    yield Bound(
        "of one mailbox", f"{_n(held_runs.most_of_a_name(most_waits))}, and at most half of all, rounded up",
        "others wait, too", "the same", "IMAP at Gmail: 15 connections",
        "http/test_waits.py::"
        "test_of_twelve_waits_of_a_mailbox_three_hold_a_run_and_the_others_are_answered_at_once",
    )  # fmt: skip
    yield Bound(
        "a wait of a killed run", _n(waits.HOLD_SECONDS, "s"), "nothing releases it", "it does not count any more",
        "none", "http/test_waits.py::test_waits_of_killed_runs_do_not_count_once_their_time_is_over",
    )  # fmt: skip
    yield Bound(
        "messages behind a cursor that are watched", _n(message_listing.MOST_WATCHED), "each look reads their rows",
        "the next pass shows messages filed there", "IMAP IDLE: all of a mailbox",
        "http/test_message_listing.py::test_with_too_many_unacknowledged_messages_only_new_ones_end_the_wait",
    )  # fmt: skip
    yield Bound(
        "fetching what a page shows", _n(mail_handlers.FETCH_SECONDS, "s"), "API Gateway waits for 30 s",
        "the page ends there, with more to come", "S3 ListObjectsV2: 1,000 keys, IsTruncated",
        "http/test_message_listing.py::test_a_page_ends_at_its_deadline_and_the_next_one_continues_there",
    )  # fmt: skip
    yield Bound(
        "messages that are counted", _n(message_listing.MOST_COUNTED), "each row is read",
        "there are more, says the answer",
        "SQS: approximate numbers", "http/test_message_listing.py::test_counting_stops_at_a_limit",
    )  # fmt: skip
    yield Bound(
        "ids of an acknowledgement", _n(schemas.MAX_ACKNOWLEDGED), "a write each", "`NotARequest`",
        "SQS DeleteMessageBatch: 10; Gmail batchDelete: 1,000",
        "http/test_acknowledging.py::test_an_invalid_acknowledgement_is_refused",
    )  # fmt: skip
    yield Bound(
        "an owner's settings for NLWeb messages", _n(nlweb_settings.MAX_OWN_BYTES, "bytes"),
        "the inbox and the worker read it, and cache it", "`SettingInvalid`",
        "Gmail API: 1,000 filters",
        "http/test_nlweb_settings.py::test_the_number_of_settings_is_limited",
    )  # fmt: skip
    yield Bound(
        "openings of a mailbox, and profiles submitted", f"{registration.OF_A_NAME_A_SECOND} a second of a name, "
        f"{registration.A_SECOND} of all, at an instance, saved up for {rate_limit.BURST_SECONDS} s",
        "strangers cause look-ups of names, and could block others", "`TooManyRequests`",
        "Let's Encrypt: 10 accounts of an address in 3 h",
        "http/test_registration.py::test_look_ups_of_all_names_together_are_limited",
    )  # fmt: skip
    yield Bound(
        "tombstones that a pass reads again", _n(head.WORTH_RAISING),
        "reading these costs less than a row with the start",
        "the next pass begins after them", "Cassandra tombstone_warn_threshold: 1,000",
        "storage/test_head.py::test_few_tombstones_and_passes_over_one_conversation_raise_no_head",
    )  # fmt: skip


def sections() -> dict[str, list[Bound]]:
    """All bounds, by the section of docs/reference/bounds.md."""
    return {
        "The inbox": list(_inbox()),
        "JSON": list(_json()),
        "NLWeb's members": list(_members()),
        "The dm3 inbox": list(_dm3()),
        "Messages of DCP": list(_dcp()),
        "Keys": list(_keys()),
        "DNS and DNSSEC": list(_dns()),
        "Outbound HTTPS": list(_https()),
        "IPFS": list(_ipfs()),
        "Queues and the worker": list(_worker()),
        "Dead letters": list(_dead_letters()),
        "Feedback about discards": list(_courier()),
        "The mailbox API": list(_counter()),
        "The outbox": list(_outbox()),
        "Notifications": list(_notifications()),
        "Archive storage": list(_storage()),
        "Names of dm3": list(_names()),
        "Messages of chats": list(_chat_messages()),
        "Caches": list(_caches()),
        "Chats": list(_chats()),
    }


def _chats() -> Iterator[Bound]:
    media, tests = MediaLimits(), "protocols/status/media"
    yield Bound(
        "a picture", _n(media.image_bytes, "bytes"), "anybody may send one", "`MediaTooLarge`",
        "status-go: 350,000 as it sends", f"{tests}/test_cleaning.py::test_a_picture_may_have_400_000_bytes",
    )  # fmt: skip
    yield Bound(
        "a sound", _n(media.audio_bytes, "bytes"), "the same", "`MediaTooLarge`", "Waku 1: 1 MiB a message",
        f"{tests}/test_cleaning.py::test_a_sound_may_have_a_mebibyte",
    )  # fmt: skip
    yield Bound(
        "pixels of a picture, as it declares them", _n(media.pixels), "a decoder needs memory for each",
        "`MediaTooLarge`", "Pillow MAX_IMAGE_PIXELS: 89,478,485",
        f"{tests}/test_cleaning.py::test_a_picture_may_have_as_many_pixels_as_the_setting_says",
    )  # fmt: skip
    yield Bound(
        "of an animation, over all frames", _n(media.all_pixels), "a viewer composes each frame whole",
        "`MediaTooLarge`", "none",
        f"{tests}/test_gif.py::test_the_number_of_frames_and_their_pixels_together_are_limited",
    )  # fmt: skip
    yield Bound(
        "frames of an animation", _n(media.frames), "some bytes each", "`MediaTooLarge`", "none",
        f"{tests}/test_webp.py::test_the_number_of_frames_and_their_pixels_together_are_limited",
    )  # fmt: skip
    yield Bound(
        "scans of a JPEG", _n(jpeg.MAX_SCANS), "a decoder goes over the whole picture for each, and ten bytes are one",
        "`MediaTooLarge`", "fuzzers of libjpeg-turbo: 500",
        f"{tests}/test_jpeg.py::test_the_number_of_scans_is_limited",
    )  # fmt: skip
    tests = "client/chat/test_pictures.py"
    yield Bound(
        "memory of the process that decodes a picture", _n(pictures.DECODING.memory_bytes, "bytes"),
        "what is coded in few bytes may need much", "`MediaTooLarge`", "none",
        f"{tests}::test_a_picture_that_needs_more_memory_than_the_program_has_is_too_large",
    )  # fmt: skip
    yield Bound(
        "time of that process", _n(pictures.DECODING.seconds, "s"), "the same; and a decoder may hang",
        "killed, `MediaInvalid`", "none",
        f"{tests}::test_a_program_that_dies_hangs_or_answers_garbage_costs_the_picture",
    )  # fmt: skip
    yield Bound(
        "a picture of the user's, to send", _n(pictures.MAX_FILE_BYTES, "bytes"), "it may come from others",
        "`MediaTooLarge`", "none", f"{tests}::test_a_file_of_too_many_bytes_is_refused_unread",
    )  # fmt: skip
    yield Bound(
        "its pixels", _n(pictures.MAX_FILE_PIXELS), "a decoder needs memory for each", "`MediaTooLarge`",
        "phones: 108 million", f"{tests}::test_a_bomb_is_refused",
    )  # fmt: skip


def _inbox() -> Iterator[Bound]:
    yield Bound(
        "requests a second, of all senders", _n(_parameter("ThrottlingRate")), "each costs a Lambda run",
        "429 by API Gateway", "API Gateway: 10,000 for an account",
        "test_template.py::test_the_api_accepts_no_more_than_the_worker_can_process",
    )  # fmt: skip
    yield Bound(
        "concurrent requests", _n(_parameter("ThrottlingBurst")), "the same", "429 by API Gateway",
        "API Gateway: 5,000 for an account",
        "test_template.py::test_the_api_accepts_no_more_than_the_worker_can_process",
    )  # fmt: skip
    yield Bound(
        "an NLWeb message", _n(AT.nlweb_max_body_bytes, "bytes"), "it is read, queued and filed as a whole",
        "`TooLarge`",
        "nginx client_max_body_size: 1 MB; SQS: 1 MiB",
        "functions/test_inbox.py::test_a_message_may_be_as_long_as_the_setting_says_and_no_longer",
    )  # fmt: skip
    yield Bound(
        "an NLWeb message to be forwarded", _n(nlweb_inbox.MAX_FORWARDED_BYTES, "bytes of ASCII JSON"),
        "the maximum of an event bus", "`TooLarge`", "EventBridge: 256 kB an entry",
        "pipeline/test_nlweb_inbox.py::test_what_could_never_be_forwarded_is_refused_by_the_inbox",
    )  # fmt: skip
    yield Bound(
        "a compressed body", "none", "a kilobyte may become a gigabyte", "`WrongContentEncoding`",
        "RFC 9110 §15.5.16 allows it",
        "pipeline/test_nlweb_inbox.py::test_a_body_may_be_as_it_is_and_in_no_compressed_form",
    )  # fmt: skip
    yield Bound(
        "a run of an inbox", _run("InboxFunction"), "API Gateway waits no longer than 30 s",
        "503 by API Gateway; nothing was promised", "API Gateway: 30 s",
        "test_template.py::test_an_inbox_times_out_before_api_gateway_does",
    )  # fmt: skip
    yield Bound(
        "memory of a run of an inbox", _memory("InboxFunction"), "the largest body, parsed",
        "the run ends; 500 by API Gateway", "Lambda: 128 to 10,240 MB",
        "test_memory.py::test_the_costliest_bodies_use_a_small_part_of_the_inboxes_memory",
    )  # fmt: skip
    yield Bound(
        "a synchronous handler's reply", _n(response.MAX_ANSWER_BYTES, "bytes"),
        "Lambda returns 6 MB", "`HandlerFailed`", "Lambda: 6 MB",
        "runtime/test_adapters.py::test_a_reply_that_lambda_could_not_return_is_a_failure_of_its_handler",
    )  # fmt: skip
    most_look_ups = look_ups.most_look_ups(AT.inbox_reserved_concurrency)
    yield Bound(
        "waiting for DNS in a synchronous request",
        f"{function('InboxFunction')['Environment']['Variables']['DNS_BUDGET_SECONDS']} s in all",
        "the request holds a run of the function", "`KeyLookupFailed`", "Postfix smtpd_policy_service_timeout: 100 s",
        "test_template.py::test_a_synchronous_request_waits_a_second_for_dns_and_holds_a_fifth_of_the_runs_at_most",
    )  # fmt: skip
    yield Bound(
        "synchronous requests that wait for DNS",
        f"{_n(most_look_ups)}: a fifth of the concurrent executions; {_n(look_ups.most_look_ups(0))} if none are "
        "reserved",
        "the others are for what is only checked and queued", "`TooManyLookUps`",
        "Unbound num-queries-per-thread: 512 or 1,024",
        "pipeline/test_look_ups.py::"
        "test_of_twenty_requests_two_of_ten_runs_look_keys_up_and_the_others_are_answered_at_once",
    )  # fmt: skip
    yield Bound(
        "of one domain",
        f"{_n(held_runs.most_of_a_name(most_look_ups))}, and at most half of all, rounded up",
        "a silent domain does not stop look-ups for others", "`TooManyLookUps`", "BIND fetches-per-zone: unlimited",
        "pipeline/test_look_ups.py::test_one_domain_takes_half_of_the_look_ups_at_most",
    )  # fmt: skip
    yield Bound(
        "waiting for a synchronous handler", _n(function_clients.HANDLER_READ_SECONDS, "s"),
        "its sender waits for the response",
        "`HandlerFailed`; it is called once", "Lambda: 900 s; API Gateway: 30 s",
        "runtime/test_adapters.py::test_a_handler_that_did_not_answer_in_time_is_not_executed_again",
    )  # fmt: skip
    yield Bound(
        "a reply remembered in its row", _n(replies.MAX_INLINE_BYTES, "bytes"),
        "writes are billed per kilobyte", "it goes to S3", "DynamoDB: 400 kB an item",
        "storage/test_replies.py::test_a_short_reply_is_in_its_row_and_a_longer_one_in_the_bucket",
    )  # fmt: skip
    yield Bound(
        "a Timestamp's age", _n(AT.nlweb_max_age_seconds, "s"), "the rows that detect replays are kept as long",
        "`TimestampTooOld`", "Kerberos: 5 min; ours lets senders queue for a day",
        "protocols/nlweb/test_timestamp.py::test_both_ends_of_the_window_are_inside_and_a_millisecond_beyond_is_outside",
    )  # fmt: skip
    yield Bound(
        "a Timestamp ahead of time", _n(AT.nlweb_max_skew_seconds, "s"), "the same", "`TimestampTooNew`",
        "Kerberos: 5 min",
        "protocols/nlweb/test_timestamp.py::test_both_ends_of_the_window_are_inside_and_a_millisecond_beyond_is_outside",
    )  # fmt: skip


def _json() -> Iterator[Bound]:
    yield Bound(
        "depth", _n(ijson.MAX_DEPTH, "levels"), "later code may recurse", "`NotIJson`",
        ".NET System.Text.Json: 64", "core/test_ijson.py::test_the_depth_of_nesting_is_limited",
    )  # fmt: skip
    yield Bound(
        "members and elements", _n(ijson.MAX_VALUES), "each takes up to a hundred times its length in memory",
        "`NotIJson`", "PHP max_input_vars, Django DATA_UPLOAD_MAX_NUMBER_FIELDS: 1,000",
        "core/test_ijson.py::test_the_number_of_values_is_limited_before_memory_is_allocated",
    )  # fmt: skip
    yield Bound(
        "integers", f"±{_n(ijson.MAX_EXACT_INTEGER)}, and those that are exact as doubles",
        "others read them as doubles", "`NotIJson`", "RFC 7493 §2.2",
        "core/test_ijson.py::test_an_integer_beyond_the_exact_range_is_read_if_nobody_reads_another_one",
    )  # fmt: skip


def _members() -> Iterator[Bound]:
    yield Bound(
        "From, To, a selector", _n(nlweb_names.MAX_NAME, "characters"), "looked up, logged, table keys",
        "`WrongShape`", "RFC 1035 §2.3.4: 255 bytes",
        "protocols/nlweb/test_names.py::test_the_length_of_a_name_is_limited",
    )  # fmt: skip
    yield Bound(
        "Subject", _n(envelope.MAX_SUBJECT, "characters"), "logged, compared with patterns", "`WrongShape`",
        "Exchange Online: 255",
        "protocols/nlweb/test_envelope.py::test_the_length_of_a_subject_is_limited",
    )  # fmt: skip
    yield Bound(
        "Signature", _n(envelope.MAX_SIGNATURE, "characters"), "decoded before the sender is verified", "`WrongShape`",
        "RSA of 8192 bits",
        "protocols/nlweb/test_envelope.py::test_the_longest_signature_is_that_of_an_rsa_key_of_8192_bits",
    )  # fmt: skip


def _chat_messages() -> Iterator[Bound]:
    tests = "protocols/status"
    yield Bound(
        "a wrapper", _n(wrapper.MAX_WRAPPER_BYTES, "bytes"), "parsed and hashed as a whole; a sound of 1 MiB fits",
        "`TooLarge`", "Waku 1: 1 MiB a message", f"{tests}/test_wrapper.py::test_a_wrapper_has_at_most_1_100_000_bytes",
    )  # fmt: skip
    yield Bound(
        "a text, a name that is shown, a request to join", _n(checks.MAX_TEXT, "characters"), "shown whole",
        "`TextInvalid`", "status-go: 4,096", f"{tests}/test_messages.py::test_a_text_has_at_most_4096_code_points",
    )  # fmt: skip
    yield Bound(
        "what a message says of members' names", _n(MAX_NAMES, "names"), "anybody may say any", "left out",
        "members of a group: 100", "client/chat/test_nlweb_carrier.py::test_so_many_domains_are_read_and_no_more",
    )  # fmt: skip
    yield Bound(
        "a profile picture", _n(checks.MAX_PROFILE_PICTURE_BYTES, "bytes"), "everybody may send one",
        "`MediaTooLarge`", "status-go: 38,400 as it sends",
        f"{tests}/test_messages.py::test_it_has_at_most_100_000_bytes",
    )  # fmt: skip
    yield Bound(
        "an ENS name in a message", _n(MAX_NAME_BYTES, "bytes"), "normalised by large tables", "`PayloadInvalid`",
        "RFC 1035 §2.3.4", f"{tests}/test_messages.py::test_an_ens_name_is_empty_or_a_name_with_a_dot",
    )  # fmt: skip
    yield Bound(
        "a channel's name", _n(chats.LONGEST_CHANNEL, "characters"), "a key of what keeps it", "`ChatInvalid`",
        "names of files in ext4: 255", f"{tests}/test_chats.py::test_what_is_no_channel",
    )  # fmt: skip
    yield Bound(
        "a clock ahead of when the message came", _n(clock.MOST_AHEAD_MS / 1000, "s"),
        "it would move the chat's clock, and all messages after it", "`ClockAhead`", "6/PAYLOADS: 120 s",
        f"{tests}/test_clock.py::test_a_clock_may_be_120_seconds_ahead_and_not_more",
    )  # fmt: skip
    yield Bound(
        "a clock", f"below 2^{clock.CLOCK_LIMIT.bit_length() - 1}", "the next one is a number of 64 bits, too",
        "`ClockInvalid`", "SQLite INTEGER: 8 bytes with a sign",
        f"{tests}/test_messages.py::test_every_clock_is_above_0_and_below_2_to_the_63",
    )  # fmt: skip
    yield Bound(
        "events in one update of a group", _n(chat_messages.MAX_EVENTS), "a signature is checked for each",
        "`PayloadInvalid`", "none", f"{tests}/test_messages.py::test_an_update_has_at_most_1000_events",
    )  # fmt: skip
    yield Bound(
        "changes of a group that count", _n(membership.MAX_COUNTED_EVENTS), "the group is made of all of them",
        "later ones do not count", "none",
        f"{tests}/test_membership.py::test_of_the_changes_of_a_group_so_many_count",
    )  # fmt: skip
    yield Bound(
        "members of a group", _n(membership.MAX_MEMBERS), "a message is sent to each", "the event does not count",
        "none", f"{tests}/test_membership.py::test_a_group_has_no_more_members_than_the_bound",
    )  # fmt: skip
    yield Bound(
        "a line of `postroom chat fold`", _n(fold.MAX_LINE_BYTES, "bytes"), "the longest wrapper in base64 fits",
        "a usage error", "none", "cli/test_chat.py::test_a_line_has_at_most_twice_the_bytes_of_a_wrapper",
    )  # fmt: skip


def _dm3() -> Iterator[Bound]:
    yield Bound(
        "a body", _n(dm3_inbox.MAX_BODY_BYTES, "bytes"), "the maximum of Lambda", "`TooLarge`", "Lambda: 6 MB",
        "pipeline/test_dm3_inbox.py::test_a_body_may_be_as_long_as_lambda_takes_and_no_longer",
    )  # fmt: skip
    yield Bound(
        "calls in a batch", _n(jsonrpc.MAX_BATCH), "answered in one run", "`RpcBatchTooLong`",
        "geth rpc.batch-request-limit: 1,000",
        "protocols/dm3/test_jsonrpc.py::test_an_oversized_batch_is_refused_as_a_whole",
    )  # fmt: skip
    yield Bound(
        "an answer to a batch", _n(response.MAX_ANSWER_BYTES, "bytes"), "Lambda returns 6 MB", "`RpcBatchTooLong`",
        "Lambda: 6 MB",
        "pipeline/test_dm3_inbox.py::test_the_answer_to_a_batch_may_be_as_long_as_lambda_can_send_and_no_longer",
    )  # fmt: skip
    yield Bound(
        "a call's id", _n(jsonrpc.MAX_ID_CHARACTERS, "characters"), "echoed", "`RpcNotARequest`",
        "RFC 5322 §2.1.1: lines of 998",
        "protocols/dm3/test_jsonrpc.py::test_the_length_of_an_id_is_limited",
    )  # fmt: skip
    yield Bound(
        "time in which calls are begun", _n(dm3_inbox.BODY_SECONDS, "s"), "the run must end in time", "`NotQueued`",
        "API Gateway: 30 s",
        "pipeline/test_dm3_inbox.py::test_a_slow_batch_ends_in_time_and_the_rest_is_unavailable",
    )  # fmt: skip
    yield Bound(
        "an envelope", _n(AT.dm3_size_limit_bytes, "bytes"), "read, queued and filed whole; published to senders",
        "`TooLarge`", "dm3 §2.2.4: 20 MB; Lambda: 6 MB",
        "pipeline/test_dm3_inbox.py::test_the_size_is_that_of_the_envelope_as_received",
    )  # fmt: skip
    yield Bound(
        "an envelope without its message", _n(dm3_inbox.MAX_BESIDE_BYTES, "bytes"),
        "hashed and checked before the sender is verified", "`EnvelopeInvalid`", "Postfix header_size_limit: 102,400",
        "pipeline/test_dm3_inbox.py::test_an_envelope_may_hold_little_beside_the_message",
    )  # fmt: skip
    yield Bound(
        "a name", _n(MAX_NAME_BYTES, "bytes"), "normalised by large tables", "`NameInvalid`", "RFC 1035 §2.3.4",
        "protocols/dm3/test_names.py::test_the_length_counts_bytes_and_ends_at_255",
    )  # fmt: skip
    yield Bound(
        "a message that is opened or written", _n(message.MAX_MESSAGE_BYTES, "bytes"), "dm3 says so",
        "`MessageInvalid`", "dm3 §2.2.4", "protocols/dm3/test_message.py::test_a_message_is_smaller_than_20_mb",
    )  # fmt: skip
    yield Bound(
        "look-ups for a call", "two, of receiver and sender, and one more where the sender's key fails",
        "the sender waits", "`SenderSignatureInvalid`", "RFC 7208 §4.6.4: 10 for SPF",
        "pipeline/test_dm3_inbox.py::test_a_call_costs_two_look_ups_and_a_third_if_the_senders_key_fails",
    )  # fmt: skip
    yield Bound(
        "all look-ups of a body", _n(AT.dm3_lookup_seconds, "s"), "the same", "`ProfileLookupFailed`",
        "Postfix postscreen_dnsbl_timeout: 10 s",
        "net/test_timebox.py::test_the_look_ups_of_one_request_share_the_time",
    )  # fmt: skip
    yield Bound(
        "receivers without a mailbox that a body looks up", _n(dm3_inbox.MAX_UNKNOWN_RECEIVERS),
        "anyone can make names up, and each costs a read", "`RpcTooManyUnknownReceivers`",
        "Postfix smtpd_hard_error_limit: 20",
        "pipeline/test_dm3_inbox.py::test_after_four_unknown_receivers_a_body_reads_nothing_more",
    )  # fmt: skip
    yield Bound(
        "reads of receivers that are not cached", _n(dm3_inbox.READS_PER_SECOND, "per second and instance"),
        "all instances together stay below a quarter of the table's throughput", "`TooManyLookUps`",
        "Postfix smtpd_client_connection_rate_limit: none",
        "test_template.py::test_look_ups_of_made_up_receivers_never_use_up_the_directorys_throughput",
    )  # fmt: skip
    yield Bound(
        "concurrent look-ups", _n(pipeline_parts.LOOK_UPS), "each has a thread", "`ProfileLookupFailed`",
        "Python's ThreadPoolExecutor: processors + 4",
        "net/test_timebox.py::test_the_number_of_parallel_look_ups_is_limited",
    )  # fmt: skip
    yield Bound(
        "a profile's URI", _n(profile.MAX_URI_BYTES, "characters"), "parsed at the inbox", "`ProfileInvalid`",
        "RFC 2397 §2: data URIs are for short values",
        "protocols/dm3/test_profile.py::test_the_length_of_a_profile_uri_is_limited",
    )  # fmt: skip
    yield Bound(
        "delivery services of a profile", _n(profile.MAX_SERVICES), "each is looked up and tried", "`ProfileInvalid`",
        "Postfix smtp_mx_address_limit: 5",
        "protocols/dm3/test_profile.py::test_the_number_of_delivery_services_is_limited",
    )  # fmt: skip
    yield Bound(
        "a delivery service's URL", _n(profile.MAX_URL_CHARACTERS, "characters"), "kept and connected to",
        "`ProfileInvalid`", "sitemaps.org: 2,048",
        "protocols/dm3/test_profile.py::test_the_length_of_a_url_is_limited",
    )  # fmt: skip
    yield Bound(
        "a profile extension as text", _n(extension.MAX_TEXT_BYTES, "bytes"), "parsed", "`ProfileInvalid`",
        "nginx client_max_body_size: 1 MB",
        "protocols/dm3/test_extension.py::test_the_length_of_json_text_is_limited",
    )  # fmt: skip
    yield Bound(
        "the registry's document", _n(registry.MAX_DOCUMENT_BYTES, "bytes"), "read every half minute",
        "the old one stays", "SnakeYAML codePointLimit: 3 MB",
        "names/test_registry.py::test_an_oversized_document_does_not_replace_the_old_one",
    )  # fmt: skip


def _dcp() -> Iterator[Bound]:
    yield Bound(
        "a signed message", _n(signed_message.MAX_BYTES, "bytes"), "it is read, hashed and written again as a whole",
        "`TooLarge`", "the text: strings of 128 Mi code points",
        "protocols/dcp/test_signed_message.py::test_what_is_no_signed_message_of_its_owner_is_refused",
    )  # fmt: skip
    yield Bound(
        "entries of `allow`, and of `auth`", _n(messages.MAX_ALLOWANCES, "each"), "the case of an address costs a hash",
        "`DcpBodyInvalid`", "the text: any number",
        "protocols/dcp/test_messages.py::test_malformed_members_are_refused_with_their_name",
    )  # fmt: skip
    yield Bound(
        "each half of a session's id", f"{connect.MIN_HALF} to {connect.MAX_HALF} characters",
        "every message has it", "`DcpBodyInvalid`", "nanoid, which the reference uses: 21",
        "protocols/dcp/test_connect.py::test_a_half_is_21_to_256_url_safe_characters",
    )  # fmt: skip
    yield Bound(
        "messages in a batch", _n(receiving.ReceiveLimits().max_messages), "each is checked, and remembered",
        "`DcpBodyInvalid`", "dcp-client 3: 10", "protocols/dcp/test_guardian.py::test_a_batch_has_a_limit",
    )  # fmt: skip
    yield Bound(
        "resources that authorize one request", _n(receiving.MAX_RESOURCES),
        "each costs a signature, and a row for its stamp", "`DcpBodyInvalid`", "the text: any number",
        "protocols/dcp/test_guardian.py::test_a_request_has_a_limit_of_resources",
    )  # fmt: skip
    yield Bound(
        "sessions, ids and stamps in memory", _n(memory_store.MAX_ROWS), "some 300 bytes each",
        "`DcpStoreFull`: the sender comes back", "dcp-client 3: no limit",
        "protocols/dcp/test_session_store.py::test_memory_is_limited_and_swept",
    )  # fmt: skip
    yield Bound(
        "memory, and bytes mixed, to open a keystore",
        f"{_n(keystore.MAX_SCRYPT_BYTES)}; {_n(keystore.MAX_SCRYPT_WORK)}; {_n(keystore.MAX_PBKDF2_ROUNDS)} rounds",
        "the file says how much work it takes", "an error", "geth: 256 MiB",
        "crypto/test_keystore.py::test_what_is_no_keystore_or_asks_for_too_much_is_refused_before_any_work",
    )  # fmt: skip
    yield Bound(
        "a message at the mailbox API, and its answer", _n(dcp_service.MAX_MESSAGE_BYTES, "bytes"),
        "Lambda takes and returns 6 MB, and base64 makes a third more", "`TooLarge`; `AnswerTooLarge`",
        "AWS Lambda: 6 MB",
        "http/test_dcp.py::test_answers_of_a_batch_fit_into_one_message_and_what_does_not_may_be_sent_again",
    )  # fmt: skip
    yield Bound(
        "a message over a WebSocket, and its answer", _n(socket_events.MAX_SOCKET_BYTES, "bytes"),
        "API Gateway takes no more", "the WebSocket is closed; `AnswerTooLarge`", "API Gateway: 128 kB",
        "end_to_end/test_dcp_sockets.py::test_what_is_too_large_for_a_websocket_is_read_over_https",
    )  # fmt: skip
    yield Bound(
        "sessions that wait for mail of a mailbox", _n(notification_targets.MAX_SESSIONS),
        "each is told by itself", "`WatchReplaced`: one more takes the place of the one that has waited longest",
        "none",
        "storage/test_notification_targets.py::"
        "test_one_session_too_many_takes_the_place_of_the_one_that_waits_longest",
    )  # fmt: skip
    yield Bound(
        "answering a watch that was replaced", _n(notification_targets.SESSION_SECONDS, "s"),
        "its WebSocket is closed by then", "its owner lists messages after 50 minutes", "API Gateway: 2 h",
        "outbound/test_replaced_watches.py::test_a_failure_is_retried_until_the_session_must_be_over",
    )  # fmt: skip
    yield Bound(
        "requests of a batch at the mailbox API", _n(dcp_service.MAX_BATCH), "they take turns in one run",
        "`DcpBodyInvalid`", "dcp-client 3: 10", "http/test_dcp.py::test_a_batch_has_at_most_ten_messages",
    )  # fmt: skip
    yield Bound(
        "the time of a batch at the mailbox API", _n(dcp_service.SECONDS, "s"), "a run ends after 29 s",
        "`CounterClosed`; the request may be sent again", "API Gateway: 30 s",
        "http/test_dcp.py::test_what_does_not_fit_into_the_time_of_a_batch_may_be_sent_again",
    )  # fmt: skip
    yield Bound(
        "the first message of a session", f"{_n(session_names.CONNECT_SECONDS, 's')} after its connect",
        "a connect is not stored", "`DcpSessionOver`", "a challenge's life, as above",
        "protocols/dcp/test_guardian.py::test_an_unused_session_is_over_after_its_connect",
    )  # fmt: skip
    yield Bound(
        "the ttl of a cheque",
        f"{_n(AT.dcp_max_ttl_seconds, 's')}; at most {_n(settings.DCP_MAX_TTL_CEILING_SECONDS, 's')}",
        "its stamp is remembered until then", "a longer ttl is taken for this one", "dcp-client 3: 600 s",
        "http/test_dcp.py::test_a_cheque_counts_until_its_time_is_over",
    )  # fmt: skip
    yield Bound(
        "the date of a request that is revoked",
        f"{_n(settings.DCP_MAX_TTL_CEILING_SECONDS, 's')} from now", "its stamp is remembered until it cannot count",
        "`DcpTimeTravel`", "none",
        "http/test_dcp.py::test_a_revocation_that_would_be_remembered_for_ages_is_refused_and_writes_nothing",
    )  # fmt: skip
    yield Bound(
        "a row of what DCP remembers", f"{_n(dcp_sessions.REMOVED_AFTER_SECONDS, 's')} beyond its end",
        "clocks differ, and a run lasts", "DynamoDB removes it", "none",
        "storage/test_dcp_sessions.py::test_a_row_is_removed_an_hour_after_its_end",
    )  # fmt: skip


def _keys() -> Iterator[Bound]:
    yield Bound(
        "a key record", _n(key_record.MAX_RECORD_BYTES, "bytes"), "parsed for any stranger", "`KeyRecordInvalid`",
        "RFC 7208 §3.4: SPF records of 450",
        "protocols/nlweb/test_key_record.py::test_the_length_of_a_record_is_limited",
    )  # fmt: skip
    yield Bound(
        "a key in DER", _n(nlweb_keys.MAX_DER_BYTES, "bytes"), "the same", "`KeyUnusable`", "RSA of 8192 bits: 1,058",
        "protocols/nlweb/test_keys.py::test_oversized_keys_are_refused_before_parsing",
    )  # fmt: skip
    yield Bound(
        "RSA, bits of the modulus", f"{nlweb_keys.MIN_RSA_BITS:,} to {nlweb_keys.MAX_RSA_BITS:,}",
        "time grows with the square", "`KeyUnusable`", "RFC 8301 §3.2: 1024 to 4096 at least; OpenSSL: 16,384",
        "protocols/nlweb/test_keys.py::test_the_length_of_a_modulus_is_limited",
    )  # fmt: skip
    yield Bound(
        "RSA, exponent", _n(nlweb_keys.MAX_RSA_EXPONENT), "time grows with its length", "`KeyUnusable`",
        "OpenSSL: 64 bits, where the modulus is over 3072",
        "protocols/nlweb/test_keys.py::test_the_size_of_an_exponent_is_limited",
    )  # fmt: skip


def _dns() -> Iterator[Bound]:
    yield Bound(
        "a look-up of a key", _n(AT.dns_budget_seconds, "s"), "a claim holds a thread", "`KeyLookupFailed`",
        "BIND resolver-query-timeout: 10 s",
        "names/test_resolvers.py::test_all_questions_of_one_look_up_share_one_budget",
    )  # fmt: skip
    yield Bound(
        "an attempt at one resolver", _n(AT.dns_try_seconds, "s"), "there must be time for the next resolver",
        "the next resolver is asked",
        "resolv.conf: 5 s", "names/test_resolvers.py::test_a_slow_resolver_is_left_after_the_time_of_a_try",
    )  # fmt: skip
    yield Bound(
        "look-ups for a message", "one, and a fresh one where a key in memory fails",
        "forged mail must not cause many DNS queries", "`SignatureInvalid`", "RFC 7208 §4.6.4: 10 for SPF",
        "pipeline/test_worker.py::test_a_message_costs_one_look_up_and_a_forged_one_a_fresh_one_more",
    )  # fmt: skip
    yield Bound(
        "time between two fresh look-ups", f"at least {_n(TIMES.fresh_floor_seconds, 's')}", "the same",
        "the key in memory counts", "unbound cache-min-ttl does the same",
        "names/test_keys.py::test_a_recently_fetched_key_is_fresh",
    )  # fmt: skip
    yield Bound(
        "questions for a look-up", _n(budget.MAX_QUESTIONS), "zones may be nested without limit", "`DnssecTooCostly`",
        "BIND max-recursion-queries: 50", "names/test_walk.py::test_the_number_of_questions_is_limited",
    )  # fmt: skip
    yield Bound(
        "steps of a look-up", _n(budget.MAX_STEPS), "loops must end",
        "`DnssecTooCostly`", "unbound MAX_TARGET_COUNT: 64",
        "names/test_walk.py::test_the_number_of_steps_is_limited",
    )  # fmt: skip
    yield Bound(
        "aliases to a key", _n(MAX_ALIASES), "each needs a look-up of its own",
        "`DnssecTooCostly`", "unbound max-query-restarts: 11",
        "names/test_keys.py::test_the_number_of_aliases_to_a_key_is_limited",
    )  # fmt: skip
    yield Bound(
        "CNAMEs to a host", _n(host_addresses.MAX_ALIASES), "each is asked for", "`OutboundFailed`", "the same",
        "names/test_host_addresses.py::test_the_number_of_aliases_is_limited",
    )  # fmt: skip
    yield Bound(
        "an answer by UDP", _n(wire.EDNS_PAYLOAD, "bytes"), "fragments get lost, and can be forged", "TCP is asked",
        "DNS flag day 2020; unbound: 1,232",
        "names/test_resolvers.py::test_an_answer_too_large_for_udp_is_fetched_over_tcp",
    )  # fmt: skip
    yield Bound(
        "an answer by TCP or HTTPS", _n(wire.MAX_ANSWER_BYTES, "bytes"), "its content costs time",
        "`DnssecTooCostly`", "RFC 8484 §6: 65,535",
        "names/test_resolvers.py::test_after_an_oversized_answer_the_next_resolver_is_tried",
    )  # fmt: skip
    yield Bound(
        "records in a set", _n(rrsets.MAX_RECORDS), "sorted and digested for every check", "`DnssecTooCostly`",
        "BIND max-records-per-type: 100",
        "names/test_signatures.py::test_the_size_of_a_record_set_is_limited",
    )  # fmt: skip
    yield Bound(
        "signatures tried of a set", _n(signatures.MAX_SIGNATURES), "KeyTrap (CVE-2023-50387)", "`DnssecTooCostly`",
        "unbound: 8", "names/test_signatures.py::test_the_number_of_tried_signatures_is_limited",
    )  # fmt: skip
    yield Bound(
        "keys tried of one tag", _n(signatures.MAX_KEYS_PER_TAG), "the same", "`DnssecTooCostly`",
        "RFC 4034 App. B: tags are not unique identifiers",
        "names/test_signatures.py::test_the_number_of_tried_keys_with_the_same_tag_is_limited",
    )  # fmt: skip
    yield Bound(
        "checks for a look-up", _n(budget.MAX_CHECKS), "the same", "`DnssecTooCostly`",
        "BIND max-validations-per-fetch: 16",
        "names/test_signatures.py::test_too_many_digests_without_a_key_are_given_up",
    )  # fmt: skip
    yield Bound(
        "a zone's key", _n(signatures.MAX_KEY_BYTES, "bytes"), "RSA takes long with a longer one", "`DnssecTooCostly`",
        "RFC 3110 §2: 4,096 bits", "names/test_signatures.py::test_the_length_of_a_key_is_limited",
    )  # fmt: skip
    yield Bound(
        "zones that sign an answer", _n(MAX_SIGNERS), "each is looked up", "`DnssecTooCostly`", "unbound: the first",
        "names/test_walk.py::test_the_number_of_signers_is_limited",
    )  # fmt: skip
    yield Bound(
        "denials in an answer", _n(MAX_DENIERS), "each has a signature to check", "`DnssecTooCostly`",
        "unbound MAX_VALIDATE_AT_ONCE: 8",
        "names/test_walk.py::test_the_number_of_denials_is_limited",
    )  # fmt: skip
    yield Bound(
        "iterations of NSEC3", _n(nsec3.MAX_ITERATIONS), "each is a hash, for every name asked about",
        "`SenderNotSigned`", "BIND 9.18, unbound: 150",
        "names/test_walk.py::test_a_zone_with_too_many_nsec3_iterations_is_insecure",
    )  # fmt: skip
    yield Bound(
        "hashes for a look-up", _n(budget.MAX_HASHES), "the NSEC3 bomb (CVE-2023-50868)", "`DnssecTooCostly`",
        "unbound: 8 names at once", "names/test_denial.py::test_the_number_of_hashes_is_limited",
    )  # fmt: skip
    yield Bound(
        "zones whose keys are remembered", _n(MOST_ZONES), "some 2 kB each",
        "the least recently used one is looked up again", "unbound key-cache-size: 4 MB",
        "names/test_zones.py::test_the_number_of_remembered_zones_is_limited",
    )  # fmt: skip
    yield Bound(
        "keys, and denials, of all zones remembered", f"some {_n(MOST_BYTES, 'bytes')} each", "strangers choose them",
        "the same", "unbound neg-cache-size: 1 MB",
        "names/test_zones.py::test_the_total_size_of_remembered_keys_is_limited",
    )  # fmt: skip
    yield Bound(
        "a zone's denials remembered", _n(MOST_DENIALS), "looked through before each question",
        "the oldest is forgotten", "unbound neg-cache-size: 1 MB",
        "names/test_zones.py::test_the_number_of_remembered_denials_of_a_zone_is_limited",
    )  # fmt: skip
    yield Bound(
        "an absence remembered", _n(MAX_ABSENT_SECONDS, "s"), "it is often repaired soon",
        "it is looked up again", "unbound cache-max-negative-ttl: 3600",
        "names/test_zones.py::test_each_denial_is_remembered_for_a_minute_at_most",
    )  # fmt: skip
    yield Bound(
        "evidence in a receipt", _n(evidence.MAX_JSON_BYTES, "bytes"), "filed with each message",
        "its middle is left out", "Postfix header_size_limit: 102,400",
        "names/test_evidence.py::test_evidence_over_the_limit_of_a_receipt_loses_its_middle",
    )  # fmt: skip


def _https() -> Iterator[Bound]:
    yield Bound(
        "an exchange", _n(AT.outbound_total_seconds, "s"), "a host may send its answer slowly", "`OutboundFailed`",
        "RFC 8461 §3.3: a minute",
        "net/test_https.py::test_a_slow_response_is_accepted_if_it_ends_before_the_deadline",
    )  # fmt: skip
    yield Bound(
        "connecting, TLS", _n(AT.outbound_connect_seconds, "s"), "the next address is tried", "`OutboundFailed`",
        "Postfix smtp_connect_timeout: 30 s",
        "net/test_https.py::test_the_tls_handshake_has_the_connect_timeout",
    )  # fmt: skip
    yield Bound(
        "addresses tried of a host", _n(https.MAX_ADDRESSES), "a zone must not make us try a thousand addresses",
        "`OutboundFailed`", "Postfix smtp_mx_address_limit: 5",
        "net/test_https.py::test_the_number_of_tried_addresses_is_limited",
    )  # fmt: skip
    yield Bound(
        "addresses tried of a host that a forged message names", _n(https.FEW_ADDRESSES), "the same",
        "`OutboundFailed`", "the same",
        "net/test_https.py::test_where_a_forged_message_names_the_host_two_addresses_are_tried",
    )  # fmt: skip
    yield Bound(
        "connections that a client of gateways, or of hosts of documents, keeps",
        f"{_n(pinned_connection.MAX_KEPT)}, for {_n(pinned_connection.KEPT_SECONDS, 's')}", "strangers name the hosts",
        "the one used longest ago is closed", "httpx: 20, for 5 s",
        "net/test_https.py::test_a_few_connections_are_kept_and_the_one_used_longest_ago_is_closed",
    )  # fmt: skip
    yield Bound(
        "reading a manifest", _n(AT.manifest_seconds, "s"), "a host may send its answer slowly", "tried again",
        "RFC 8461 §3.3: a minute", "outbound/test_forged_mail.py::test_a_manifest_gets_four_seconds_in_all",
    )  # fmt: skip
    yield Bound(
        "redirects", "none followed", "they lead to other hosts", "treated as an ordinary answer",
        "RFC 8461 §3.3: none",
        "net/test_https.py::test_redirects_are_not_followed",
    )  # fmt: skip
    yield Bound(
        "a URL", _n(https.MAX_URL_CHARACTERS, "characters"), "parsed and logged", "`OutboundFailed`",
        "nginx large_client_header_buffers: 8 kB", "net/test_https.py::test_the_length_of_a_url_is_limited",
    )  # fmt: skip
    yield Bound(
        "an answer's head", _n(httpcore.HTTP11Connection.MAX_INCOMPLETE_EVENT_SIZE, "bytes, and one read more"),
        "kept whole", "`OutboundFailed`", "curl: 100 kB a header",
        "net/test_https.py::test_the_length_of_a_response_head_is_limited",
    )  # fmt: skip
    yield Bound(
        "an answer", _n(https.MAX_RESPONSE_BYTES, "bytes"), "kept whole", "`OutboundFailed`",
        "nginx client_max_body_size: 1 MB", "net/test_https.py::test_the_length_of_a_response_is_limited",
    )  # fmt: skip
    yield Bound(
        "a manifest", _n(manifest.MAX_MANIFEST_BYTES, "bytes"), "64 kB of hostile YAML take a second",
        "no Feedback is sent", "RFC 8461 §3.3: policies of 64 kB",
        "names/test_manifest.py::test_the_length_of_a_manifest_is_limited",
    )  # fmt: skip
    yield Bound(
        "depth of YAML", _n(documents.MAX_DEPTH, "levels"), "PyYAML's time grows with the square",
        "no Feedback is sent",
        "SnakeYAML nestingDepthLimit: 50",
        "names/test_manifest.py::test_the_depth_of_a_manifest_is_limited",
    )  # fmt: skip
    yield Bound(
        "aliases in YAML", "none", "a kilobyte may become a gigabyte", "no Feedback is sent",
        "SnakeYAML maxAliasesForCollections: 50", "names/test_manifest.py::test_yaml_aliases_are_refused",
    )  # fmt: skip
    yield Bound(
        "a graph's reply", _n(feedback_buffers.MAX_REPLY_BYTES, "bytes"), "parsed", "no Feedback is sent",
        "RFC 8461 §3.3: 64 kB",
        "outbound/test_feedback_buffers.py::test_a_graphs_reply_is_read_up_to_the_limit",
    )  # fmt: skip


def _ipfs() -> Iterator[Bound]:
    yield Bound(
        "gateways", _n(uris.MAX_GATEWAYS), "each is tried, one after the other", "the deployment does not start",
        "Helia: 2 gateways by default", "names/test_uris.py::test_the_number_of_gateways_is_limited",
    )  # fmt: skip
    yield Bound(
        "a document, from all gateways together", _n(profile_documents.FETCH_SECONDS, "s"),
        "the sender waits; each has its share of what is left", "`ProfileLookupFailed`", "Kubo RetrievalTimeout: 30 s",
        "names/ipfs/test_gateways.py::test_gateways_that_fall_silent_take_no_longer_than_all_may",
    )  # fmt: skip
    yield Bound(
        "a CAR", _n(car.MAX_CAR_BYTES, "bytes"), "any gateway's answer, kept whole and hashed", "not read",
        "go-car: sections of 8 MiB", "names/ipfs/test_car.py::test_the_length_of_a_car_is_limited",
    )  # fmt: skip
    yield Bound(
        "blocks of a CAR", _n(car.MAX_BLOCKS), "each is hashed, whether it is needed or not", "not read",
        "boxo: 174 links of a block", "names/ipfs/test_car.py::test_the_number_of_blocks_is_limited",
    )  # fmt: skip
    yield Bound(
        "blocks of a file, with the directories above it, each as often as it is linked to", _n(car.MAX_BLOCKS),
        "a few blocks, linked to again and again, stand for millions", "not read",
        "Lotus MaxTraversalLinks: 33,554,432",
        "names/ipfs/test_unixfs.py::test_the_number_of_blocks_of_a_file_is_limited_each_as_often_as_it_is_linked_to",
    )  # fmt: skip
    yield Bound(
        "levels of blocks of a file", _n(unixfs.MAX_LEVELS), "each is a call within the one above it", "not read",
        "boxo: 3 for 7.9 GB", "names/ipfs/test_unixfs.py::test_the_number_of_levels_is_limited",
    )  # fmt: skip
    yield Bound(
        "a file", _n(unixfs.MAX_FILE_BYTES, "bytes"), "it is put together whole", "not read",
        "bitswap: 2 MiB a block", "names/ipfs/test_unixfs.py::test_the_length_of_a_file_is_limited",
    )  # fmt: skip
    yield Bound(
        "names in a path", _n(uri.MAX_NAMES), "each is a directory to be read", "not read",
        "POSIX PATH_MAX: 4,096 bytes", "names/ipfs/test_uri.py::test_the_number_of_names_is_limited",
    )  # fmt: skip
    yield Bound(
        "a name in it", _n(uri.MAX_NAME_BYTES, "bytes"), "it stands in errors and logs", "not read",
        "POSIX NAME_MAX: 255 bytes", "names/ipfs/test_uri.py::test_the_length_of_a_name_is_limited",
    )  # fmt: skip
    yield Bound(
        "a varint", "63 bits", "Python's numbers grow without limit", "not read", "unsigned-varint: 63 bits",
        "names/ipfs/test_wire.py::test_a_varint_that_is_cut_large_or_longer_than_need_be_is_refused",
    )  # fmt: skip


def _worker() -> Iterator[Bound]:
    claims, suspects = _source("Claims"), _source("Suspects")
    yield Bound(
        "a queue message", _n(queue.MAX_BODY_BYTES, "bytes"), "the maximum of SQS", "it goes to S3", "SQS: 1 MiB",
        "pipeline/test_claims.py::test_a_claim_too_long_for_a_queue_message_goes_to_s3",
    )  # fmt: skip
    yield Bound(
        "claims in a batch; of suspects", f"{claims['BatchSize']}; {suspects['BatchSize']}",
        "processed in one run", "the next batch", "Lambda: 10,000",
        "test_template.py::test_a_batch_for_the_slowest_of_hosts_and_resolvers_fits_the_functions_time",
    )  # fmt: skip
    yield Bound(
        "envelopes in memory at the same time, and in a segment", _n(worker.SLICE_BYTES, "bytes, and one more"),
        "pointers are not counted in Lambda's 6 MB", "one more segment", "AWS CLI multipart_threshold: 8 MB",
        "pipeline/test_worker.py::"
        "test_a_batch_of_large_messages_is_processed_in_parts_of_limited_bytes",
    )  # fmt: skip
    yield Bound(
        "objects of a message too large for the queue", "1, until its verdict", "a forged one would stay for 31 days",
        "the worker deletes it", "S3: lifecycle rules, in days",
        "pipeline/test_claim_objects.py::test_a_forged_message_leaves_no_object",
    )  # fmt: skip
    yield Bound(
        "claims verified at the same time", _n(side_by_side.THREADS), "each has a thread and a connection",
        "they wait their turn",
        "botocore max_pool_connections: 10",
        "core/test_side_by_side.py::test_the_number_of_parallel_items_is_limited",
    )  # fmt: skip
    yield Bound(
        "a run of the worker", _run("WorkerFunction"), "a full batch with slow look-ups",
        "delivered again", "Lambda: 900 s",
        "test_template.py::test_a_batch_for_the_slowest_of_hosts_and_resolvers_fits_the_functions_time",
    )  # fmt: skip
    yield Bound(
        "memory of a run of the worker", _memory("WorkerFunction"),
        "a part of a batch, parsed, and the caches", "delivered again, in the end one by one",
        "Lambda: 128 to 10,240 MB",
        "test_memory.py::test_the_costliest_batch_uses_a_quarter_of_the_workers_memory",
    )  # fmt: skip
    yield Bound(
        "of this, until the last part of a batch is begun", _n(worker.BEGIN_SECONDS, "s"),
        "a batch is processed in parts, each with its own look-ups", "the rest waits for another run",
        "Postfix smtpd_timeout: 300 s",
        "pipeline/test_worker.py::test_no_part_of_a_batch_is_begun_after_the_time_limit",
    )  # fmt: skip
    yield Bound(
        "a call of AWS",
        f"{function_clients.AWS_TRIES} tries of "
        f"{function_clients.AWS_CONNECT_SECONDS + function_clients.AWS_READ_SECONDS} s",
        "a claim holds a thread", "`StoreUnavailable`, `NotQueued`", "boto3: 5 tries of 120 s",
        "runtime/test_adapters.py::test_a_call_of_aws_is_attempted_a_limited_number_of_times",
    )  # fmt: skip
    yield Bound(
        "concurrent workers", _n(claims["ScalingConfig"]["MaximumConcurrency"]),
        "resolvers, tables, the account's quota",
        "claims wait in the queue", "Postfix default_process_limit: 100",
        "test_template.py::test_workers_at_once_are_limited",
    )  # fmt: skip
    yield Bound(
        "deliveries of a claim together with others", _n(worker.SUSPECT_AFTER),
        "a claim that makes the worker fail must not affect others",
        "it is moved to the suspects queue", "AWS on Lambda and SQS: maxReceiveCount of 5 at least",
        "pipeline/test_worker.py::test_a_claim_received_three_times_is_set_apart_as_it_is",
    )  # fmt: skip
    yield Bound(
        "deliveries of a claim by itself", _n(_receives("SuspectsQueue")), "each costs a Lambda run",
        "a dead letter; `Undeliverable` near the horizon", "the same",
        "storage/test_queue.py::test_a_message_is_received_a_limited_number_of_times_and_is_then_a_dead_letter",
    )  # fmt: skip
    yield Bound(
        "delay between two look-ups of a zone that does not answer, none of whose keys was proven",
        _n(silent_zones.LONGEST_SECONDS, "s"), "5, 15, 45 … before: 36 look-ups in 7 days, for all claims together",
        "its claims wait in a queue of their own", "Postfix maximal_backoff_time: 4,000 s",
        "pipeline/test_silent_zones.py::"
        "test_a_zone_that_never_answers_is_asked_40_times_in_a_week_at_most_and_its_claim_is_discarded",
    )  # fmt: skip
    yield Bound(
        "claims that begin to wait for such a zone in 7 days; for all",
        f"{_n(silent_zones.MAX_WAITING_OF_ZONE)}; {_n(silent_zones.MAX_WAITING)}",
        "SQS hides 120,000 messages of a queue",
        "`SenderDnsSilent`, at the inbox, for silent zones, and for names below a domain of which many are silent",
        "Postfix qmgr_message_active_limit: 20,000",
        "pipeline/test_silent_zones.py::test_beyond_the_limit_the_inbox_takes_no_message_of_a_silent_zone",
    )  # fmt: skip
    yield Bound(
        "claims that begin to wait, before new senders are refused", _n(silent_zones.MAX_WAITING_OF_NEW_ZONES),
        "SQS hides 120,000 messages of a queue; a claim that is never received is lost",
        "`SenderDnsSilent` for domains that are not proven", "the same",
        "pipeline/test_silent_zones.py::"
        "test_far_beyond_the_limit_the_inbox_takes_messages_of_proven_domains_only",
    )  # fmt: skip
    yield Bound(
        "silence of a proven domain before its messages wait so",
        _n(silent_zones.PROVEN_SILENT_SECONDS, "s"), "anybody can prove a key, and then not answer",
        "its claims wait in that queue, too", "Postfix delay_warning_time: 0 to 4 h as commonly set",
        "pipeline/test_silent_zones.py::test_a_proven_domain_that_is_silent_for_an_hour_waits_as_others_do",
    )  # fmt: skip
    yield Bound(
        "result of a look-up of a silent zone", _n(silent_zones.LOOK_UP_SECONDS, "s"),
        "other claims of the zone wait for it", "the zone is asked again",
        "SQS visibility time-out: 30 s",
        "pipeline/test_silent_zones.py::"
        "test_while_a_zone_is_asked_its_other_claims_wait_for_the_result_and_not_for_the_next_look_up",
    )  # fmt: skip
    yield Bound(
        "waiting claims in a batch", _n(_source("Waiting")["BatchSize"]), "all are looked up at the same time",
        "the next batch", "Lambda: 10 by default",
        "test_template.py::test_a_batch_for_the_slowest_of_hosts_and_resolvers_fits_the_functions_time",
    )  # fmt: skip
    yield Bound(
        "a run of the waiting queue", _run("WaitingFunction"), "a full batch with slow look-ups",
        "delivered again", "Lambda: 900 s",
        "test_template.py::test_a_batch_for_the_slowest_of_hosts_and_resolvers_fits_the_functions_time",
    )  # fmt: skip
    yield Bound(
        "memory of a run of the waiting queue", _memory("WaitingFunction"),
        "a full batch of the longest queue messages", "delivered again", "Lambda: 128 to 10,240 MB",
        "test_memory.py::test_a_batch_of_the_longest_waiting_claims_uses_a_quarter_of_the_memory",
    )  # fmt: skip
    yield Bound(
        "concurrent runs of the waiting queue", _n(_source("Waiting")["ScalingConfig"]["MaximumConcurrency"]),
        "honest claims must not wait for DNS servers that strangers name", "claims wait in the queue",
        "Postfix default_destination_concurrency_limit: 20", "test_template.py::test_workers_at_once_are_limited",
    )  # fmt: skip
    yield Bound(
        "zones told apart above a domain", f"up to {silent_zones_of_names.MAX_ZONE_LABELS} labels",
        "zones may be nested without limit", "it is the zone of that many labels",
        "Mozilla's Public Suffix List: 5 labels",
        "names/test_silent_zones.py::test_zones_are_told_apart_up_to_a_number_of_labels",
    )  # fmt: skip
    yield Bound(
        "delay between two attempts", _n(queue.LONGEST_DELAY_SECONDS, "s"), "the maximum of SQS; 5, 15, 45 … before",
        "tried again", "SQS: 900 s; Postfix maximal_backoff_time: 4,000 s",
        "pipeline/test_worker.py::test_a_retry_leaves_the_queue_for_the_retry_queue_with_a_growing_delay",
    )  # fmt: skip
    yield Bound(
        "waiting for a verdict", _n(AT.horizon_seconds, "s"), "rows are kept as long", "`TooLate`",
        "Postfix maximal_queue_lifetime: 5 d; RFC 5321 §4.5.4.1: 4 to 5 d at least",
        "pipeline/test_worker.py::test_older_than_the_horizon_is_too_late_and_not_a_millisecond_before",
    )  # fmt: skip
    yield Bound(
        "identities and tombstones", _n(AT.retain_seconds, "s"), "a row each", "forgotten by the tables' TTL",
        "SQS: 14 d for a copy after its last send",
        "pipeline/test_worker.py::test_an_identity_and_a_tombstone_are_remembered_for_the_retention_period",
    )  # fmt: skip
    yield Bound(
        "one read of filed messages", _n(object_store.READ_BYTES, "bytes, or one line"), "kept whole",
        "one more request",
        "AWS CLI multipart_chunksize: 8 MB",
        "storage/test_segments.py::test_one_request_reads_a_limited_number_of_bytes",
    )  # fmt: skip
    yield Bound(
        "the secret of our keys", _n(secret.MAX_SECRET_BYTES, "bytes"), "the maximum of Secrets Manager",
        "the key is not stored", "Secrets Manager: 65,536",
        "storage/test_secrets.py::test_a_secret_that_would_exceed_its_limit_is_unchanged",
    )  # fmt: skip


def _dead_letters() -> Iterator[Bound]:
    yield Bound(
        "a round over the dead letters", _n(dead_letters.ROUND_SECONDS, "s"), "the run must end in time",
        "the rest waits for the next round", "Postfix smtpd_timeout: 300 s",
        "functions/test_dead_letters.py::"
        "test_dead_letters_are_received_until_the_round_is_over_and_the_rest_waits_for_the_next",
    )  # fmt: skip
    yield Bound(
        "a run of the dead-letter handler", _run("DeadLetterFunction"), "a round, and the dead letters received last",
        "the rest waits for the next round", "Lambda: 900 s",
        "test_template.py::test_a_round_over_the_dead_letters_ends_before_the_time_out_and_sees_each_once",
    )  # fmt: skip
    yield Bound(
        "memory of a run of the dead-letter handler", _memory("DeadLetterFunction"),
        "ten dead letters of the largest size", "the rest waits for the next round",
        "Lambda: 128 to 10,240 MB",
        "test_memory.py::test_the_largest_dead_letters_use_half_of_their_handlers_memory",
    )  # fmt: skip
    yield Bound(
        "dead letters in memory at the same time", _n(dead_letters.DEAD_LETTERS_AT_ONCE), "each may be of any size",
        "the next ten", "SQS: 10 in a receive",
        "functions/test_dead_letters.py::test_a_round_receives_ten_dead_letters_at_once_until_none_is_left",
    )  # fmt: skip
    yield Bound(
        "rounds", function("DeadLetterFunction")["Events"]["Round"]["Properties"]["ScheduleExpression"],
        "dead letters are rare; each round costs a run",
        "decided a round later", "Postfix queue_run_delay: 300 s",
        "test_template.py::test_the_dead_letter_handler_runs_often_enough",
    )  # fmt: skip


def _courier() -> Iterator[Bound]:
    yield Bound(
        "Feedback to one domain in an hour", _n(AT.feedback_per_domain_and_hour),
        "forged mail must not make us send many messages", "one summary of the hour",
        "RFC 3834 §2: responders limit themselves",
        "outbound/test_feedback_sender.py::test_a_domain_over_its_hourly_limit_gets_one_summary_after_the_hour",
    )  # fmt: skip
    yield Bound(
        "Feedback to one buffer in an hour", _n(feedback_sender.DOMAINS_OF_A_BUFFER * AT.feedback_per_domain_and_hour),
        "domains name it without its consent", "no Feedback is sent", "RFC 3834 §2: responders limit themselves",
        "outbound/test_feedback_sender.py::test_a_buffers_limit_holds_however_many_domains_name_it",
    )  # fmt: skip
    yield Bound(
        "retries of one Feedback, in all", _n(AT.feedback_give_up_seconds, "s"), "hosts may be unavailable for long",
        "given up",
        "Postfix bounce_queue_lifetime: 5 d",
        "outbound/test_feedback_sender.py::test_feedback_is_given_up_after_24_hours_for_good",
    )  # fmt: skip
    yield Bound(
        "attempts to read a manifest", _n(feedback_sender.MANIFEST_TRIES),
        "forged mail names hosts that were made up, or that are others'", "nobody is told",
        "RFC 3834 §2: responders limit themselves",
        "outbound/test_forged_mail.py::test_an_unreachable_manifest_is_given_up_after_four_tries_and_nobody_is_told",
    )  # fmt: skip
    yield Bound(
        "connections for one Feedback, in all", "20", "forged mail must not make us flood a host",
        "8 attempts in a day, 2 addresses each; manifest and buffer together",
        "RFC 3834 §2: responders limit themselves",
        "outbound/test_forged_mail.py::test_a_forged_message_costs_no_more_than_twenty_connections_in_its_life",
    )  # fmt: skip
    yield Bound(
        "passes of one Feedback through the queue, in all", "150", "each is sent, received and deleted",
        "given up after a day", "RFC 5321 §4.5.4.1: 30 min between two attempts",
        "outbound/test_forged_mail.py::"
        "test_an_address_that_fails_for_others_is_not_an_attempt_and_the_feedback_ends_all_the_same",
    )  # fmt: skip
    yield Bound(
        "names below a wildcard that fail, before its other names are left alone", _n(failing_names.FAILING_NAMES),
        "it has any number of names", f"tried again after {failing_addresses.FAILING_SECONDS} s",
        "Unbound infra-host-ttl: 900 s",
        "names/test_manifest.py::test_further_names_in_a_zone_whose_hosts_fail_cost_no_request_for_five_minutes",
    )  # fmt: skip
    yield Bound(
        "connections to an address that fails", _n(1), "any number of names lead to one address",
        f"tried again after {failing_addresses.FAILING_SECONDS} s", "Unbound infra-host-ttl: 900 s",
        "outbound/test_forged_mail.py::"
        "test_two_hundred_made_up_names_that_lead_to_one_dripping_address_cost_one_connection",
    )  # fmt: skip
    yield Bound(
        "delay between two passes through the queue", _n(queue.LONGEST_DELAY_SECONDS, "s"),
        f"{backoff.FIRST_DELAY_SECONDS} s at first, then twice as long each", "tried again",
        "SQS: 900 s", "outbound/test_feedback_sender.py::test_the_delay_grows_up_to_the_longest_of_sqs",
    )  # fmt: skip
    yield Bound(
        "queue messages in a batch", _n(_source("Discards")["BatchSize"]), "processed one after the other",
        "the next batch", "Lambda: 10 by default",
        "test_template.py::test_a_batch_for_the_slowest_of_hosts_and_resolvers_fits_the_functions_time",
    )  # fmt: skip
    yield Bound(
        "a run that sends Feedback", _run("FeedbackFunction"), "a full batch with slow hosts and look-ups",
        "delivered again", "Lambda: 900 s",
        "test_template.py::test_a_batch_for_the_slowest_of_hosts_and_resolvers_fits_the_functions_time",
    )  # fmt: skip
    yield Bound(
        "memory of a run that sends Feedback", _memory("FeedbackFunction"),
        "responses of strangers, parsed, and the caches", "delivered again", "Lambda: 128 to 10,240 MB",
        "test_memory.py::test_a_batch_of_the_costliest_responses_uses_a_small_part_of_the_couriers_memory",
    )  # fmt: skip
    yield Bound(
        "concurrent couriers of Feedback", _n(_source("Discards")["ScalingConfig"]["MaximumConcurrency"]),
        "owners' messages and notifications must not wait for hosts that strangers name", "Feedback waits in its queue",
        "Postfix default_destination_concurrency_limit: 20", "test_template.py::test_workers_at_once_are_limited",
    )  # fmt: skip
    yield Bound(
        "concurrent couriers of all else", _n(_source("QueueMessages")["ScalingConfig"]["MaximumConcurrency"]),
        "hosts of other people must not be overloaded",
        "messages wait in the queue", "Postfix default_destination_concurrency_limit: 20",
        "test_template.py::test_workers_at_once_are_limited",
    )  # fmt: skip


def _storage() -> Iterator[Bound]:
    test = "http/test_containers.py::"
    yield Bound(
        "a request, and an answer", _n(schemas.MAX_PART_BYTES, "bytes"), "Lambda takes and returns 6 MB, in base64",
        "`ContainerTooLarge`; larger containers come and are read in parts", "S3's parts of an upload: 5 MB at least",
        "functions/test_mailbox.py::test_lambda_takes_the_largest_request_and_the_largest_response",
    )  # fmt: skip
    yield Bound(
        "a container", _n(schemas.MAX_CONTAINER_BYTES, "bytes"), "a message of 20 MB has a chunk of its own",
        "`ContainerTooLarge`", "dm3 §3.2: chunks of up to 10 MB",
        f"{test}test_oversized_requests_and_containers_are_refused_and_nothing_is_stored",
    )  # fmt: skip
    yield Bound(
        "parts of a container", _n(schemas.MAX_PARTS), "each is a write in one transaction, which has 100",
        "`NotARequest`", "S3: 10,000 parts of an upload", f"{test}test_a_join_without_parts_is_refused",
    )  # fmt: skip
    yield Bound(
        "a part's life", _n(containers.PART_SECONDS, "s"), "unused bytes count towards the quota", "`PartUnknown`",
        "S3 AbortIncompleteMultipartUpload: days", f"{test}test_a_part_expires_after_an_hour",
    )  # fmt: skip
    yield Bound(
        "what a mailbox stores", f"{_n(AT.storage_max_bytes, 'bytes')} in {_n(AT.storage_max_containers)} containers",
        "it costs money every month", "`StorageFull`", "Gmail: 15 GB",
        "storage/test_containers.py::test_fifty_writers_at_the_quota_fill_it_and_not_a_byte_more",
    )  # fmt: skip
    yield Bound(
        "containers of a page", _n(schemas.MAX_CONTAINERS), "each row is read", "`NotARequest`",
        "S3 ListObjectsV2: 1,000", f"{test}test_an_invalid_page_size_is_refused",
    )  # fmt: skip


def _outbox() -> Iterator[Bound]:
    yield Bound(
        "a message", f"{_n(queue.MAX_BODY_BYTES, 'bytes')} as it is queued, what is not ASCII escaped",
        "the courier's queue carries it whole: it is stored nowhere", "`TooLarge`", "SQS: 1 MiB",
        "http/test_outbox.py::"
        "test_the_largest_message_can_be_queued_and_a_larger_one_is_refused_with_the_limit",
    )  # fmt: skip
    yield Bound(
        "attempts to deliver it", _n(AT.outbox_give_up_seconds, "s"), "receivers accept a Timestamp for 24 h",
        "given up",
        "Postfix maximal_queue_lifetime: 5 d",
        "outbound/test_outbox_sender.py::test_a_message_is_given_up_after_23_hours_with_the_last_failure",
    )  # fmt: skip
    yield Bound(
        "a token and the state of its message", _n(AT.outbox_keep_seconds, "s"), "each is a row", "forgotten",
        "Stripe's idempotency keys: 24 h",
        "http/test_outbox.py::test_a_token_expires_and_its_message_soon_after",
    )  # fmt: skip
    yield Bound(
        "the answer that is kept with it", _n(outbox_sender.MAX_REPLY_BYTES, "bytes"), "rows are billed by their size",
        "not stored; the message is still delivered", "our own replies: 4,096 bytes in a row",
        "outbound/test_outbox_sender.py::"
        "test_a_message_counts_as_delivered_even_if_the_response_is_no_json_or_too_large_to_keep",
    )  # fmt: skip
    yield Bound(
        "a receiver's code; its sentence", f"{_n(feedback.MAX_CODE)}; {_n(feedback.MAX_SENTENCE, 'characters')}",
        "it is a stranger's text, stored and shown", "cut off; unprintable characters are removed",
        "RFC 3464 §2: a reply of SMTP, 512 bytes",
        "outbound/test_outbox_sender.py::"
        "test_a_refusal_is_final_and_shown_in_the_receivers_words_without_control_characters",
    )  # fmt: skip


def _notifications() -> Iterator[Bound]:
    yield Bound(
        "targets of a mailbox", _n(notification_targets.MAX_TARGETS), "each costs a request for each notification",
        "`TooManyTargets`",
        "GitHub: 20 webhooks of a repository",
        "storage/test_notification_targets.py::test_a_mailbox_has_a_limited_number_of_targets_however_many_are_added_at_once",
    )  # fmt: skip
    yield Bound(
        "a target's address", _n(schemas.MAX_TARGET, "characters"), "it is stored in a row, and connected to",
        "`NotARequest`",
        "sitemaps.org: 2,048", "http/test_notification_targets.py::test_an_invalid_target_is_refused",
    )  # fmt: skip
    yield Bound(
        "codes for the targets of a mailbox", _n(CODES_A_DAY, "a day"),
        "each is a request to a host that may not want it", "`TooManyRequests`",
        "RFC 3834 §2: responders limit themselves",
        "http/test_notification_targets.py::test_the_number_of_codes_sent_for_a_mailbox_a_day_is_limited",
    )  # fmt: skip
    yield Bound(
        "attempts to confirm a code", _n(MAX_TRIES), "it has 40 bits", "`CodeWrong`", "RFC 4226 §7.3: throttling",
        "http/test_notification_targets.py::"
        "test_after_too_many_wrong_codes_a_new_code_must_be_sent",
    )  # fmt: skip
    yield Bound(
        "attempts to send a code", _n(pausing.CODE_SECONDS, "s"), "its owner waits for it",
        "the owner requests another one",
        "none",
        "outbound/test_notification_sender.py::test_a_code_is_retried_for_an_hour_and_the_owner_sees_the_failure",
    )  # fmt: skip
    yield Bound(
        "notifications of a mailbox's targets", f"one in {_n(AT.notify_interval_seconds, 's')}",
        "many messages may arrive at the same time", "notified at the end of the interval", "none",
        "outbound/test_notification_sender.py::test_the_first_of_a_burst_is_notified_at_once_and_the_last_at_the_end_of_the_interval",
    )  # fmt: skip
    yield Bound(
        "concurrent retries of a target", "one", "they all have the same content", "covered by it", "none",
        "outbound/test_notification_sender.py::test_one_notification_of_a_target_that_is_down_is_retried",
    )  # fmt: skip
    yield Bound(
        "retries of a notification, in all", _n(AT.notify_pause_seconds, "s"), "hosts may be unavailable for long",
        "paused; its owner resumes it", "Standard Webhooks: disable what fails for days",
        "outbound/test_notification_sender.py::test_a_target_is_paused_after_days_of_failure_and_notified_no_more",
    )  # fmt: skip
    yield Bound(
        "a secret from before a rotation", _n(webhook_keys.OVERLAP_SECONDS, "s"),
        "receivers use the new one by then",
        "it is no longer used", "Standard Webhooks: sign with both",
        "storage/test_notification_targets.py::test_after_a_rotation_both_secrets_sign_for_a_day",
    )  # fmt: skip


def _names() -> Iterator[Bound]:
    yield Bound(
        "a text of a name", f"{_n(registry.MIN_TEXT_SECONDS)} to {_n(registry.MAX_TEXT_SECONDS, 's')}",
        "its TTL within these: who changes a key should not wait long, and nobody should pay for each message",
        "looked up again", "unbound cache-max-ttl: 86,400 s",
        "names/test_ens_registry.py::test_a_text_may_be_kept_for_the_registrys_ttl_within_a_minute_and_an_hour",
    )  # fmt: skip
    yield Bound(
        "look-ups in ENS that an instance begins",
        f"{ens_registry.LOOK_UPS_PER_SECOND} a second; those of {_n(ens_registry.BURST_SECONDS, 's')} are saved up",
        "strangers choose the names, and the operator pays the provider", "`ProfileLookupFailed`",
        "reads of the directory by the dm3 inbox: 40 a second",
        "names/test_ens_registry.py::test_look_ups_are_limited_and_those_that_were_not_begun_count_as_none",
    )  # fmt: skip
    yield Bound(
        "time between two look-ups of a name in ENS", _n(ens_registry.ASK_SECONDS, "s"),
        "forged mail must not cause many requests; a block comes every 12 s", "the text in memory counts",
        "the same for keys in DNS: 2 s",
        "names/test_ens_registry.py::test_a_name_is_asked_about_once_in_half_a_minute_even_for_a_fresh_text",
    )  # fmt: skip
    yield Bound(
        "a name whose look-up in ENS failed", f"left alone for {_n(ens_registry.FAILING_SECONDS, 's')}",
        "a gateway that a stranger runs may be slow", "`ProfileLookupFailed`", "the same for keys in DNS: 5 s",
        "names/test_ens_registry.py::test_a_name_that_could_not_be_found_out_is_left_alone_for_a_moment",
    )  # fmt: skip
    yield Bound(
        "endpoints that must agree", f"1 to {settings.MAX_ENS_QUORUM}", "as many requests for each look-up",
        "the stack is not deployed", "viem's fallback transport: 1",
        "core/test_settings.py::test_the_template_refuses_numbers_that_functions_refuse",
    )  # fmt: skip
    yield Bound(
        "requests that wait for one endpoint", _n(endpoint_client.MAX_AT_ONCE),
        "one that is silent would hold the threads of others", "the endpoint has failed",
        "httpx: 100 connections to all hosts",
        "net/test_endpoint_client.py::test_one_that_is_silent_holds_a_few_threads_only",
    )  # fmt: skip
    yield Bound(
        "the age of an endpoint's newest block",
        f"{_n(rpc.BLOCK_OLD_SECONDS, 's')}, or {_n(rpc.BLOCK_AHEAD_SECONDS, 's')} ahead of our clock",
        "an endpoint that does not follow the chain knows old keys", "the endpoint has failed",
        "geth answers whatever its head's age",
        "names/ens/test_rpc.py::test_the_newest_block_may_be_minutes_old_or_a_minute_ahead",
    )  # fmt: skip
    yield Bound(
        "a look-up in ENS", _n(AT.dm3_lookup_seconds, "s"), "the dm3 inbox answers within that",
        "`ProfileLookupFailed`", "viem: 10 s a request",
        "names/ens/test_ens.py::test_a_look_up_ends_with_its_time",
    )  # fmt: skip
    yield Bound(
        "off-chain look-ups of a name, one after the other", _n(ens_lookup.MAX_ROUNDS), "a contract may ask for ever",
        "`ProfileLookupFailed`", "viem: 4", "names/ens/test_lookup.py::test_there_may_be_four_rounds_and_no_more",
    )  # fmt: skip
    yield Bound(
        "requests to gateways, of a look-up", _n(ccip.MAX_REQUESTS), "a contract may name many",
        "`ProfileLookupFailed`", "none in EIP-3668",
        "names/ens/test_ccip.py::test_gateways_are_asked_a_few_times_in_a_look_up",
    )  # fmt: skip
    yield Bound(
        "URLs that are tried for one of these", _n(ccip.MAX_URLS), "the same", "the others are not tried",
        "none in EIP-3668", "names/ens/test_ccip.py::test_only_the_first_urls_are_tried",
    )  # fmt: skip
    yield Bound(
        "requests in a batch of a look-up; batches within one another",
        f"{ccip.MAX_BATCH}; {ccip.MAX_NESTING}", "the same", "`ProfileLookupFailed`", "none in ENSIP-21",
        "names/ens/test_ccip.py::test_a_batch_may_be_within_another_and_not_deeper",
    )  # fmt: skip
    yield Bound(
        "an answer of an endpoint or a gateway", _n(rpc.MAX_ANSWER_BYTES, "bytes"), "it is read into memory",
        "the endpoint has failed; the next gateway", "none in JSON-RPC",
        "names/ens/test_rpc.py::test_an_answer_has_a_limit",
    )  # fmt: skip
    yield Bound(
        "a text in ENS", _n(ens_lookup.MAX_TEXT_BYTES, "bytes"), "it is cached", "`ProfileLookupFailed`",
        "a TXT record: 65,535 bytes", "names/ens/test_lookup.py::test_a_text_has_a_limit",
    )  # fmt: skip


def _caches() -> Iterator[Bound]:
    leaves = "the least recently used one is removed"
    yield Bound(
        "senders' keys; names without one; domains that fail", _n(TIMES.max_names, "each"), "strangers choose them",
        leaves, "unbound rrset-cache-size: 4 MB", "names/test_keys.py::test_the_number_of_cached_names_is_limited",
    )  # fmt: skip
    yield Bound(
        "the evidence of these keys", _n(TIMES.max_evidence, "characters"), "a sender may make it long", leaves,
        "unbound key-cache-size: 4 MB",
        "names/test_keys.py::test_the_total_size_of_cached_evidence_is_limited",
    )  # fmt: skip
    yield Bound(
        "a key", f"{_n(AT.key_cache_min_seconds)} to {_n(AT.key_cache_max_seconds, 's')}",
        "its TTL within these", "looked up again", "unbound cache-max-ttl: 86,400 s",
        "names/test_keys.py::test_the_ttl_is_limited",
    )  # fmt: skip
    yield Bound(
        "that there is no key", _n(TIMES.max_negative_seconds, "s"), "it is often about to be repaired",
        "looked up again", "RFC 2308 §5: 1 to 3 h at most",
        "names/test_keys.py::test_a_refusal_is_cached_for_a_minute_at_most",
    )  # fmt: skip
    yield Bound(
        "documents at URIs of profiles",
        f"{_n(profile_documents.MAX_CONTENTS_BYTES, 'bytes')}, {_n(profile_documents.MAX_CONTENTS)}",
        "strangers choose them", leaves, "Kubo StorageMax: 10 GB",
        "names/test_uris.py::test_all_documents_together_have_a_bound",
    )  # fmt: skip
    yield Bound(
        "such a document", _n(profile_documents.KEEP_SECONDS, "s"), "what a hash names never changes", "fetched again",
        "Kubo: immutable for a year, by Cache-Control",
        "names/test_uris.py::test_what_a_hash_names_is_fetched_once_a_day_wherever_it_is",
    )  # fmt: skip
    yield Bound(
        "a URI that failed", _n(profile_documents.FAILED_SECONDS, "s"), "forged mail must not flood its host",
        "fetched again", "unbound infra-host-ttl: 900 s",
        "names/test_uris.py::test_a_uri_that_failed_is_left_alone_for_five_seconds",
    )  # fmt: skip
    yield Bound(
        "profiles of a kind; names without one", _n(profiles.MAX_PROFILES, "each"), "strangers choose them", leaves,
        "the same", "names/test_profiles.py::test_the_cache_is_limited_and_names_without_a_profile_displace_none",
    )  # fmt: skip
    yield Bound(
        "the URIs of these profiles", _n(profiles.MAX_CACHED_BYTES, "bytes"), "a profile may be long", leaves,
        "the same", "names/test_profiles.py::test_the_total_size_of_cached_profiles_is_limited",
    )  # fmt: skip
    yield Bound(
        "texts of names in DNS", _n(dns_registry.MAX_NAMES, "each"), "strangers choose them", leaves,
        "unbound rrset-cache-size: 4 MB", "names/test_keys.py::test_the_number_of_cached_names_is_limited",
    )  # fmt: skip
    yield Bound(
        "texts of names in ENS; their length together",
        f"{_n(ens_registry.MAX_TEXTS)}; {_n(ens_registry.MAX_TEXT_CHARACTERS, 'characters')}",
        "strangers choose the names, and how long a text is", leaves, "the same",
        "names/test_ens_registry.py::test_the_number_and_the_size_of_kept_texts_are_limited",
    )  # fmt: skip
    yield Bound(
        "what is known of senders' accounts", _n(accounts.MAX_VERDICTS, "answers"), "strangers choose them",
        "the oldest is looked up again", "the same",
        "names/test_accounts.py::test_the_number_of_kept_verdicts_is_limited",
    )  # fmt: skip
    yield Bound(
        "domains' manifests; names, and zones, that fail", _n(manifest.MAX_DOMAINS, "each"), "the same", leaves,
        "the same",
        "names/test_manifest.py::test_domains_are_cached_separately_and_limited_in_number",
    )  # fmt: skip
    yield Bound(
        "addresses that failed", _n(failing_addresses.MAX_FAILING), "strangers choose them", leaves, "the same",
        "net/test_failing_addresses.py::test_the_number_of_remembered_addresses_is_limited",
    )  # fmt: skip
    yield Bound(
        "a graph's answers", _n(feedback_buffers.MAX_DOMAINS), "the same", leaves, "the same",
        "outbound/test_feedback_buffers.py::test_the_cache_of_answers_is_limited",
    )  # fmt: skip
    yield Bound(
        "entries of the directory, of a kind", _n(loading_cache.MAX_CACHED), "strangers choose what is looked up",
        leaves, "the same", "core/test_loading_cache.py::test_the_number_of_entries_is_limited",
    )  # fmt: skip
    yield Bound(
        "names and selectors that were read", _n(nlweb_names.REMEMBERED, "each"), "the same", leaves,
        "Python's lru_cache: 128", "test_memory.py::test_the_number_of_remembered_names_is_limited",
    )  # fmt: skip
    yield Bound(
        "addresses of Ethereum that were read", _n(ethereum.ADDRESSES_READ), "the same", leaves, "the same",
        "test_memory.py::test_the_number_of_remembered_names_is_limited",
    )  # fmt: skip
    yield Bound(
        "names of keys that were read", _n(keys.NAMES_READ), "the same", leaves, "the same",
        "test_memory.py::test_the_number_of_remembered_names_is_limited",
    )  # fmt: skip
