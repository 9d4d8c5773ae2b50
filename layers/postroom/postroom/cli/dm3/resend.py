"""`postroom dm3 resend`: send a message from the archive once more, to its receiver who asks for it."""

from typing import Annotated

import typer

from postroom.cli.archive.homes import FORMS
from postroom.cli.dm3.archive import open_own_archive
from postroom.cli.dm3.inputs import KeyFile, load_user_keys, message_hash
from postroom.cli.dm3.names import NameOptions
from postroom.cli.dm3.sent import exit_of, print_sent, sending_to
from postroom.cli.exits import NotFoundFault, RefusalFault
from postroom.cli.inputs import AsJson
from postroom.cli.network import ConnectionOptions, build_https, open_resolvers


def resend(
    reference: Annotated[
        str,
        typer.Argument(
            metavar="HASH", help="The hash of a RESEND_REQUEST in the archive, or of your message.", parser=message_hash
        ),
    ],
    key: KeyFile,
    home: Annotated[
        str,
        typer.Option(envvar="POSTROOM_HOME", metavar="HOME", help=f"The home of your archive: {FORMS}."),
    ],
    *,
    names: NameOptions,
    connections: ConnectionOptions,
    as_json: AsJson = False,
) -> None:
    """Send a message once more, to its receiver.

    `dm3 send --home` must have kept it. Exit code 0: accepted; 1: refused, or asked for by somebody else than its
    receiver; 3: not possible now.
    """
    from postroom.client.archive.sent_messages import NotKeptError, NotToBeResentError, find_requested
    from postroom.client.dm3 import Dm3Sender

    keys, network = load_user_keys(key), names.network_with(connections)
    with names.profiles(network) as profiles:
        with open_own_archive(home, key, connections) as archive:
            try:
                requested = find_requested(archive, reference)
            except NotKeptError as error:
                raise NotFoundFault(str(error), hint="`postroom dm3 send --home HOME` keeps what it sends") from None
            except NotToBeResentError as error:
                raise RefusalFault(str(error)) from None
            owner = archive.owner
        with open_resolvers(network) as resolvers, sending_to(requested.message.metadata.to):
            sender = Dm3Sender(owner, keys, profiles, build_https(network, resolvers))
            sent = sender.send_again(requested.message, requested.delivery_instruction)
    print_sent(sent, as_json=as_json)
    raise typer.Exit(exit_of(sent))
