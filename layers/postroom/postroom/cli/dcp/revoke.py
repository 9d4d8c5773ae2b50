"""`postroom dcp revoke`: revoke a cheque before it is presented."""

from typing import TYPE_CHECKING, Annotated

import typer

from postroom.cli.dcp.present import read_cheque_file
from postroom.cli.dcp.target import DcpTargetOptions, TargetUrl
from postroom.cli.exits import UsageFault
from postroom.cli.inputs import AsJson
from postroom.cli.output import print_either

if TYPE_CHECKING:
    from postroom.crypto.ethereum import Address
    from postroom.protocols.dcp.messages import Request


def revoke(
    url: TargetUrl,
    file: Annotated[str, typer.Argument(metavar="FILE|-", help="The cheque; - is standard input.")],
    target: DcpTargetOptions,
    as_json: AsJson = False,
) -> None:
    """Revoke a cheque that --key wrote, at a post office.

    The post office then refuses it as EDUP. If the post office answers EDUP, it was presented or revoked before. Exit
    code 0: it is revoked; 1: refused; 3: not known, or not possible now.
    """
    from postroom.api.dcp import REVOKE

    cheque, key = read_cheque_file(file), target.load_key()
    _check_writer(cheque, key.address)
    data = cheque.payload.data if isinstance(cheque.payload.data, dict) else {}
    if not isinstance(data.get("mailbox"), str):
        raise UsageFault("the data of the cheque names no mailbox, so that no post office can revoke it")
    with target.open(url, key) as connection:
        revocation = {"mailbox": data["mailbox"], "body": cheque.payload.validity}
        connection.request(REVOKE, revocation).send(key)
    print_either(as_json, {"revoked": True}, "revoked")


def _check_writer(cheque: "Request", own: "Address") -> None:
    """Check that a key wrote a cheque: the target would revoke one of another key with the same stamp."""
    from postroom.protocols.dcp.authorization import payload_digest, signers_of

    signers = signers_of(cheque, cheque.auth, payload_digest(cheque))
    if own not in signers:
        writers = [f"0x{address}" for address in cheque.auth if address in signers]
        raise UsageFault(
            f"the cheque was written by the key of {', '.join(writers) or 'nobody'}, and --key is that of 0x{own}"
        )
