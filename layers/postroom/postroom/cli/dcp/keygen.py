"""`postroom dcp keygen`: make the key of an identity or of a resource."""

import json
import secrets
import uuid
from base64 import b64encode
from pathlib import Path
from typing import Annotated

import typer

from postroom.cli.exits import UsageFault
from postroom.cli.inputs import AsJson, choose_passphrase
from postroom.cli.output import print_json, write_new_private
from postroom.cli.terminal import print_line


def keygen(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A new file for the key, which only you can read.")],
    as_json: AsJson = False,
) -> None:
    """Make a key, and print its address.

    The file is a keystore, as Ethereum's tools make it (version 3): JSON, encrypted by a passphrase, which is asked
    for at the terminal or is in POSTROOM_KEY_PASSPHRASE.
    """
    from postroom.crypto.ethereum_keys import EthereumKey
    from postroom.crypto.keystore import KeystoreError, lock

    passphrase, key = choose_passphrase(file), EthereumKey.generate()
    try:
        keystore = lock(
            key, passphrase, salt=secrets.token_bytes(32), vector=secrets.token_bytes(16), uuid=str(uuid.uuid4())
        )
    except KeystoreError as error:
        raise UsageFault(str(error)) from None
    write_new_private(file, json.dumps(keystore, indent=2).encode() + b"\n", "name a file that does not exist yet")
    address, public = f"0x{key.address}", b64encode(key.spki()).decode()
    if as_json:
        print_json({"file": str(file), "address": address, "public_key": public})
        return
    print_line(f"private key  {file}")
    print_line(f"address      {address}")
    print_line(f"public key   {public}")
    print_line("             with `postroom mailbox open NAME --public-key-base64 BASE64`, it is an owner's")
