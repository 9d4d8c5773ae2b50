# pragma version ==0.4.3
# pragma evm-version cancun
# A resolver for all names: addresses (ENSIP-1) and texts (ENSIP-5), set by the owner of a node in the registry.
# The limits are this contract's own.

interface Registry:
    def owner(node: bytes32) -> address: view

event AddrChanged:
    node: indexed(bytes32)
    a: address

event TextChanged:
    node: indexed(bytes32)
    indexedKey: indexed(String[MAX_KEY])
    key: String[MAX_KEY]
    value: String[MAX_TEXT]

REGISTRY: constant(address) = 0x00000000000C2E074eC69A0dFb2997BA6C7d2e1e
MAX_KEY: constant(uint256) = 256
MAX_TEXT: constant(uint256) = 8192

addresses: HashMap[bytes32, address]
texts: HashMap[bytes32, HashMap[String[MAX_KEY], String[MAX_TEXT]]]


@external
@view
def addr(node: bytes32) -> address:
    return self.addresses[node]


@external
def setAddr(node: bytes32, a: address):
    self._require_owner(node)
    self.addresses[node] = a
    log AddrChanged(node=node, a=a)


@external
@view
def text(node: bytes32, key: String[MAX_KEY]) -> String[MAX_TEXT]:
    return self.texts[node][key]


@external
def setText(node: bytes32, key: String[MAX_KEY], content: String[MAX_TEXT]):
    self._require_owner(node)
    self.texts[node][key] = content
    log TextChanged(node=node, indexedKey=key, key=key, value=content)


@external
@pure
def supportsInterface(interfaceID: bytes4) -> bool:
    # EIP-165, addr(bytes32), text(bytes32,string)
    return interfaceID in [0x01ffc9a7, 0x3b3b57de, 0x59d1d43c]


@internal
@view
def _require_owner(node: bytes32):
    assert msg.sender == staticcall Registry(REGISTRY).owner(node)
