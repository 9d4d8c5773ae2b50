"""`postroom chat device`: the devices of one user."""

from typing import Annotated

import typer

from postroom.cli.chat.device_id import find_device_id, keep_device_id
from postroom.cli.chat.options import ChatOptions, SendingOptions
from postroom.cli.chat.sent import print_sent
from postroom.cli.inputs import AsJson
from postroom.cli.options import CommandTyper
from postroom.cli.output import print_json, print_table

app = CommandTyper(help="Name this device, and list all of yours.", no_args_is_help=True)


@app.command("name")
def name_device(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What the device is called, such as laptop.")],
    options: SendingOptions,
    as_json: AsJson = False,
) -> None:
    """Give this device a name, which your other devices list.

    It is a message to yourself (PairInstallation), with a random ID that is kept in your state folder.
    """
    with options.open() as chats:
        raise typer.Exit(print_sent(chats.name_device(keep_device_id(chats.own), name), as_json=as_json))


@app.command("list")
def list_devices(options: ChatOptions, as_json: AsJson = False) -> None:
    """List your devices that have a name."""
    with options.open() as chats:
        devices, this = chats.devices(), find_device_id(chats.own)
    if as_json:
        print_json({
            "devices": [
                {"id": id_, "name": each.name, "type": each.device_type, "this": id_ == this}
                for id_, each in devices.items()
            ]
        })  # fmt: skip
        return
    rows = [(each.name, each.device_type, "yes" if id_ == this else "no", id_) for id_, each in devices.items()]
    print_table(("name", "type", "this one", "ID"), rows)
