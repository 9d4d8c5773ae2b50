"""All fuzzing entries, by name: one for each parser of input from others."""

from typing import Final

from tests.fuzz import (
    chat_carriers,
    dcp_connections,
    dcp_guardian,
    dcp_sockets,
    dcp_texts,
    dm3_texts,
    dns_answers,
    ens_texts,
    inboxes,
    inside,
    ipfs_files,
    json_texts,
    keys,
    nlweb_texts,
    outside,
    sealed,
    status_media,
    status_payloads,
    status_texts,
)
from tests.fuzz.entry import Entry

_MODULES: Final = (
    json_texts,
    nlweb_texts,
    keys,
    sealed,
    dm3_texts,
    dcp_texts,
    dcp_guardian,
    dcp_sockets,
    dcp_connections,
    dns_answers,
    ens_texts,
    ipfs_files,
    status_media,
    outside,
    inside,
    inboxes,
    status_texts,
    status_payloads,
    chat_carriers,
)

ENTRIES: Final[dict[str, Entry]] = {entry.name: entry for module in _MODULES for entry in module.ENTRIES}
