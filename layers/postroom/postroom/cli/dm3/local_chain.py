"""Publishing on the chain of a local stack, and at its gateway of IPFS."""

from contextlib import ExitStack
from http import HTTPStatus

from postroom.cli.exits import RefusalFault, UnavailableFault
from postroom.cli.network import Network, build_https, open_resolvers
from postroom.core.errors import NotNowError
from postroom.core.extras import require


def set_local_text(network: Network, name: str, key: str, text: str, resolver: bytes | None) -> bytes:
    """Set a text of a name on the local chain, by the account that its names belong to; the name's resolver.

    `resolver`: that it has; None: the name is registered. Raises RefusalFault, UnavailableFault.
    """
    require("the local chain", "local")
    from postroom.local.chain.accounts import ChainAccount
    from postroom.local.chain.ens_names import OWNER, PUBLIC_RESOLVER, LocalEns
    from postroom.local.chain.evm import TransactionRefusedError
    from postroom.local.chain.remote_chain import MAX_ANSWER_BYTES, RemoteChain
    from postroom.net.endpoint_client import EndpointClient, EndpointError

    if resolver not in (None, PUBLIC_RESOLVER):
        raise RefusalFault(
            f"the resolver of {name}, 0x{resolver.hex()}, has its texts elsewhere: they are not set on chain"
        )
    with ExitStack() as undo:
        client = EndpointClient(
            network.chain_endpoints[0], max_response_bytes=MAX_ANSWER_BYTES, ca_file=network.ca_file
        )
        undo.callback(client.close)
        ens = LocalEns(RemoteChain(client), ChainAccount.of_label(OWNER))
        try:
            if resolver is None:
                ens.register(name, PUBLIC_RESOLVER)
            ens.set_text(name, key, text)
            ens.commit()
        except TransactionRefusedError as error:
            raise RefusalFault(
                f"the local chain does not take the text of {name}: {error}",
                hint="there, texts have at most 8,192 bytes, and names are below one that is there, such as .eth",
            ) from None
        except EndpointError as error:
            raise UnavailableFault(f"the local chain cannot be reached: {error}") from None
    return PUBLIC_RESOLVER


def put_local_file(network: Network, content: bytes) -> None:
    """Have the local gateway of IPFS serve a file. Raises UnavailableFault."""
    with open_resolvers(network) as resolvers:
        url = f"{network.ipfs_gateways[0]}/ipfs/"
        try:
            answer = build_https(network, resolvers).post(url, content, "application/octet-stream")
        except NotNowError as error:
            raise UnavailableFault(f"the local gateway of IPFS cannot be reached: {error.detail}") from None
    if answer.status != HTTPStatus.CREATED:
        raise UnavailableFault(
            f"the local gateway of IPFS does not take the file: it answered with status {answer.status}"
        )
