# pragma version ==0.4.3
# pragma evm-version cancun
# The registry of ENS (EIP-137): of each node the owner, the resolver, and the seconds for which what is known of it may
# be kept.

event NewOwner:
    node: indexed(bytes32)
    label: indexed(bytes32)
    owner: address

event Transfer:
    node: indexed(bytes32)
    owner: address

event NewResolver:
    node: indexed(bytes32)
    resolver: address

event NewTTL:
    node: indexed(bytes32)
    ttl: uint64

struct Record:
    owner: address
    resolver: address
    ttl: uint64

# The first variable: the genesis block has the owner of the root in its place in the storage.
records: HashMap[bytes32, Record]


@external
@view
def owner(node: bytes32) -> address:
    return self.records[node].owner


@external
@view
def resolver(node: bytes32) -> address:
    return self.records[node].resolver


@external
@view
def ttl(node: bytes32) -> uint64:
    return self.records[node].ttl


@external
def setOwner(node: bytes32, owner: address):
    self._require_owner(node)
    self.records[node].owner = owner
    log Transfer(node=node, owner=owner)


@external
def setSubnodeOwner(node: bytes32, label: bytes32, owner: address):
    self._require_owner(node)
    self.records[keccak256(concat(node, label))].owner = owner
    log NewOwner(node=node, label=label, owner=owner)


@external
def setResolver(node: bytes32, resolver: address):
    self._require_owner(node)
    self.records[node].resolver = resolver
    log NewResolver(node=node, resolver=resolver)


@external
def setTTL(node: bytes32, ttl: uint64):
    self._require_owner(node)
    self.records[node].ttl = ttl
    log NewTTL(node=node, ttl=ttl)


@internal
@view
def _require_owner(node: bytes32):
    assert msg.sender == self.records[node].owner
