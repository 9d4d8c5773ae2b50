"""`postroom dm3 publish`: what to write where, so that a profile is found."""

import shlex
from contextlib import ExitStack
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from postroom.cli.descriptor import read_descriptor
from postroom.cli.dm3.inputs import REGISTRY_OBJECT, dm3_name, find_registry, read_registry
from postroom.cli.dm3.names import EnsOptions, EnsSource
from postroom.cli.exits import RefusalFault, UsageFault
from postroom.cli.inputs import AsJson, read_input, shown_input
from postroom.cli.network import Network
from postroom.cli.open_deployment import open_deployment
from postroom.cli.output import note, print_json
from postroom.cli.terminal import print_line
from postroom.core.errors import NotNowError, TheirError
from postroom.crypto.encodings import write_hex

if TYPE_CHECKING:
    from postroom.protocols.dm3.profile import ServiceProfile, UserProfile


class PublishedAs(StrEnum):
    """Where a profile is published: in the text itself, in a document that it names, or in DNS."""

    DATA = "data"
    HTTPS = "https"
    IPFS = "ipfs"
    DNS = "dns"


@dataclass(frozen=True, slots=True)
class _Document:
    """A profile's file, and what it says. `file`: its name, as it is shown; `record`: the key of its text."""

    file: str
    content: bytes
    record: str
    profile: "UserProfile | ServiceProfile"


def publish(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name of the profile.", parser=dm3_name)],
    profile: Annotated[
        str,
        typer.Option(
            metavar="FILE|-", help="The profile, JSON, as `postroom dm3 keygen --json` prints it; - is standard input."
        ),
    ],
    where: Annotated[
        PublishedAs,
        typer.Option("--as", help="In the text itself, in a document on a host or in IPFS, or in DNS with DNSSEC."),
    ] = PublishedAs.DATA,
    url: Annotated[
        str | None, typer.Option(metavar="URL", help="With --as https: where you serve the file, as it is.")
    ] = None,
    *,
    ens: EnsOptions,
    as_json: AsJson = False,
) -> None:
    """Print what to write where, to publish a profile.

    For ENS, a wallet sends the printed data to the resolver of the name; for DNS, the line goes into the zone. Nothing
    is sent, except to a local stack: its chain takes the text, and its gateway of IPFS the file.
    """
    from postroom.names.publishing import cid_of, text_record
    from postroom.protocols.dm3.profile_hash import profile_hash

    if (url is not None) != (where is PublishedAs.HTTPS):
        raise UsageFault("--url URL says where the file is served: --as https needs it, and nothing else takes it")
    if profile == "-" and where in (PublishedAs.HTTPS, PublishedAs.IPFS):
        raise UsageFault(f"--as {where} is for a file, which others read as it is: name one with --profile FILE")
    document = _read(profile)
    text = _text(document, where, url or "")
    try:
        line = text_record(name, document.record, text) if where is PublishedAs.DNS else None
    except TheirError as error:
        raise UsageFault(f"{name}: {error.detail}", hint="--as data, https and ipfs are for ENS") from None
    in_ens = _publish_in_ens(name, document, text, ens) if line is None else None
    cid = str(cid_of(document.content)) if where is PublishedAs.IPFS else None
    digest = profile_hash(document.content) if where is PublishedAs.HTTPS else None
    if as_json:
        print_json({
            "name": name, "record": document.record, "text": text, "zone_line": line,
            "set_text": in_ens.data if in_ens else None, "resolver": in_ens.resolver if in_ens else None,
            "published": in_ens is not None and in_ens.is_published, "dm3_hash": digest, "cid": cid,
        })  # fmt: skip
        return
    if cid and in_ens and in_ens.is_published:
        print_line(f"the file      is served by the local gateway of IPFS, as {cid}")
    elif cid:
        print_line(f"the file      ipfs add --cid-version 1 {shlex.quote(document.file)}, which must print {cid}")
    if digest:
        print_line(f"the file      serve {document.file} as it is, at {url}; its dm3Hash is {digest}")
    if in_ens and in_ens.is_published:
        print_line(
            f"published     on the local chain, at the resolver {in_ens.resolver}, as the text {document.record}:"
        )
        print_line(text)
    elif in_ens:
        print_line(f"to publish    as the text {document.record} of {name}:")
        print_line(text)
        resolver = f", {in_ens.resolver}" if in_ens.resolver else ""
        print_line(f"by a wallet   with this data (setText), to the resolver of the name{resolver}:")
        print_line(in_ens.data)
    elif line:
        print_line("to publish    in the zone, which must be signed:")
        print_line(line)


@dataclass(frozen=True, slots=True)
class _EnsPublication:
    """A text of a name in ENS. `data`: of the transaction that sets it; `resolver`: 0x…, which it goes to, if known.

    `is_published`: on the chain of a local stack.
    """

    data: str
    resolver: str | None
    is_published: bool


def _publish_in_ens(name: str, document: _Document, text: str, ens: EnsOptions) -> _EnsPublication:
    """What is to be sent to which resolver; a local stack takes it, and a file of IPFS, at once."""
    from postroom.cli.dm3.local_chain import put_local_file, set_local_text
    from postroom.names.publishing import set_text_data

    if "." not in name:
        raise UsageFault(f"{name} is not looked up in ENS: names without a dot are found in pinned documents only")
    network = ens.network()
    if network.chain_endpoints and ens.endpoint:
        raise UsageFault(
            "--endpoint names another chain than that of the local stack, which takes the text: leave one of them out "
            "(or unset POSTROOM_LOCAL)"
        )
    resolver = _find_resolver(name, document.record, ens, network)
    if network.chain_endpoints:
        if text.startswith("ipfs:"):
            put_local_file(network, document.content)
        resolver = set_local_text(network, name, document.record, text, resolver)
        if pinned := _deployments_that_pin(name, ens):
            note(f"{', '.join(pinned)} will not read this text: {name} is in the pinned document there")
    elif resolver is None and ens.endpoint:
        note(f"{name} has no resolver in ENS, which it needs before a text of it can be set")
    return _EnsPublication(
        write_hex(set_text_data(name, document.record, text)),
        write_hex(resolver) if resolver else None,
        bool(network.chain_endpoints),
    )


def _find_resolver(name: str, record: str, ens: EnsOptions, network: Network) -> bytes | None:
    """The address of the name's resolver; None: it has none, or there are no endpoints to look it up at."""
    if not ens.endpoint_urls(network):
        return None
    from postroom.cli.dm3.gateway_answers import host_of

    with ExitStack() as undo:
        found = EnsSource(ens, network, undo).ens.text(name, record).found
    if found.rounds:
        hosts = ", ".join(map(host_of, found.gateways)) or "a gateway"
        raise RefusalFault(
            f"{name} has its texts off chain, behind {hosts}: no transaction sets them", hint="whoever runs it does"
        )
    return found.resolver


def _deployments_that_pin(name: str, ens: EnsOptions) -> list[str]:
    """The deployments of a local stack that look the name up in their pinned document only."""
    if ens.stack is None:
        return []
    stored = {
        each: find_registry(open_deployment(None, ens.stack, each)) for each in read_descriptor(ens.stack).deployments
    }
    return [each for each, document in stored.items() if document and name in read_registry(document, REGISTRY_OBJECT)]


def _read(name: str) -> _Document:
    """A user's profile, or a delivery service's. Raises UsageFault."""
    from postroom.names.registry import PROFILE_KEY, SERVICE_KEY
    from postroom.protocols.dm3.profile import profile_of_document, read_service_profile, read_user_profile

    content, file = read_input(name), shown_input(name)
    try:
        value = profile_of_document(content)
    except TheirError as error:
        raise UsageFault(f"{file}: {error.detail}", hint="`postroom dm3 keygen --json` prints a profile") from None
    try:
        return _Document(file, content, PROFILE_KEY, read_user_profile(value))
    except TheirError as error:
        of_user = error.detail
    try:
        return _Document(file, content, SERVICE_KEY, read_service_profile(value))
    except TheirError as error:
        raise UsageFault(f"{file} is no profile: of a user, {of_user}; of a delivery service, {error.detail}") from None


def _text(document: _Document, where: PublishedAs, url: str) -> str:
    """The URI to publish. Raises UsageFault."""
    from postroom.names.publishing import cid_of
    from postroom.protocols.dm3.profile import MAX_URI_BYTES, ascii_data_uri, data_uri
    from postroom.protocols.dm3.profile_hash import url_with_hash

    match where:
        case PublishedAs.HTTPS:
            _check_url(url)
            try:
                return url_with_hash(url, document.content)
            except TheirError as error:
                raise UsageFault(f"--url {url}: {error.detail}") from None
        case PublishedAs.IPFS:
            return f"ipfs://{cid_of(document.content)}"
        case _:
            written = ascii_data_uri if where is PublishedAs.DNS else data_uri
            text = written(document.profile.as_json())
            if len(text) > MAX_URI_BYTES:
                raise UsageFault(f"{document.file} is too long for a text: use --as https or --as ipfs")
            return text


def _check_url(url: str) -> None:
    from postroom.net.https import split_url

    try:
        split_url(url, 443)
    except NotNowError as error:
        raise UsageFault(f"--url {url}: {error.detail}") from None
