# pragma version ==0.4.3
# pragma evm-version cancun
# The universal resolver (ENSIP-23): finds the resolver of a name (ENSIP-10), calls it, and has the client follow its
# off-chain look-ups (EIP-3668) by its own batch gateway (ENSIP-21). Only what looks names up: nothing of reverse names.
# The limits are this contract's own.

interface Registry:
    def resolver(node: bytes32) -> address: view

REGISTRY: constant(address) = 0x00000000000C2E074eC69A0dFb2997BA6C7d2e1e
MAX_NAME: constant(uint256) = 256
MAX_LABELS: constant(uint256) = 128
MAX_CALL: constant(uint256) = 4096
MAX_RESULT: constant(uint256) = 16384
MAX_URL: constant(uint256) = 512
URLS: constant(uint256) = 8
EXTENDED_RESOLVER: constant(bytes4) = 0x9061b923
OFFCHAIN_LOOKUP: constant(bytes4) = 0x556f1830
UNSUPPORTED_RESOLVER_PROFILE: constant(bytes4) = 0x7b1c461b
BATCH_GATEWAY: constant(String[MAX_URL]) = "x-batch-gateway:true"

struct Request:
    sender: address
    urls: DynArray[String[MAX_URL], URLS]
    data: Bytes[MAX_CALL]

# The resolver of a name. offset: where in the name that begins for which the registry has it.
struct ResolverInfo:
    name: Bytes[MAX_NAME]
    offset: uint256
    node: bytes32
    resolver: address
    extended: bool

# How the call of a resolver is judged, before and after off-chain look-ups. selector: of the function that was called.
struct Inquiry:
    resolver: address
    extended: bool
    selector: bytes4
    gateways: DynArray[String[MAX_URL], URLS]


@external
@view
def findResolver(name: Bytes[MAX_NAME]) -> (address, bytes32, uint256):
    resolver: address = empty(address)
    node: bytes32 = empty(bytes32)
    offset: uint256 = 0
    resolver, node, offset = self._find(name)
    return resolver, node, offset


@external
@view
def requireResolver(name: Bytes[MAX_NAME]) -> ResolverInfo:
    return self._require(name)


@external
@view
def resolve(name: Bytes[MAX_NAME], data: Bytes[MAX_CALL]) -> (Bytes[MAX_RESULT], address):
    return self._resolve(name, data, [BATCH_GATEWAY])


@external
@view
def resolveWithGateways(
    name: Bytes[MAX_NAME], data: Bytes[MAX_CALL], gateways: DynArray[String[MAX_URL], URLS]
) -> (Bytes[MAX_RESULT], address):
    return self._resolve(name, data, gateways)


@external
@view
def resolveBatchCallback(response: Bytes[MAX_RESULT], extraData: Bytes[MAX_RESULT]) -> (Bytes[MAX_RESULT], address):
    inquiry: Inquiry = empty(Inquiry)
    callback: bytes4 = empty(bytes4)
    extra: Bytes[MAX_CALL] = b""
    inquiry, callback, extra = abi_decode(extraData, (Inquiry, bytes4, Bytes[MAX_CALL]))
    failures: DynArray[bool, 1] = []
    responses: DynArray[Bytes[MAX_RESULT - 256], 1] = []
    failures, responses = abi_decode(response, (DynArray[bool, 1], DynArray[Bytes[MAX_RESULT - 256], 1]))
    if failures[0]:
        raw_revert(responses[0])
    return self._call(inquiry, concat(callback, abi_encode(responses[0], extra))), inquiry.resolver


@internal
@view
def _resolve(
    name: Bytes[MAX_NAME], data: Bytes[MAX_CALL], gateways: DynArray[String[MAX_URL], URLS]
) -> (Bytes[MAX_RESULT], address):
    info: ResolverInfo = self._require(name)
    inquiry: Inquiry = Inquiry(
        resolver=info.resolver, extended=info.extended, selector=self._selector(data), gateways=gateways
    )
    if info.extended:
        request: Bytes[MAX_CALL + MAX_NAME + 132] = abi_encode(
            name, data, method_id=method_id("resolve(bytes,bytes)")
        )
        return self._call(inquiry, request), info.resolver
    return self._call(inquiry, data), info.resolver


@internal
@view
def _require(name: Bytes[MAX_NAME]) -> ResolverInfo:
    resolver: address = empty(address)
    node: bytes32 = empty(bytes32)
    offset: uint256 = 0
    resolver, node, offset = self._find(name)
    if resolver == empty(address):
        raw_revert(abi_encode(name, method_id=method_id("ResolverNotFound(bytes)")))
    extended: bool = self._is_extended(resolver)
    if not extended:
        # Only an extended resolver answers for names below its own.
        if offset != 0:
            raw_revert(abi_encode(name, method_id=method_id("ResolverNotFound(bytes)")))
        if not resolver.is_contract:
            raw_revert(abi_encode(name, resolver, method_id=method_id("ResolverNotContract(bytes,address)")))
    return ResolverInfo(name=name, offset=offset, node=node, resolver=resolver, extended=extended)


@internal
@view
def _call(inquiry: Inquiry, data: Bytes[MAX_RESULT + MAX_CALL]) -> Bytes[MAX_RESULT]:
    success: bool = False
    result: Bytes[MAX_RESULT] = b""
    success, result = raw_call(
        inquiry.resolver, data, max_outsize=MAX_RESULT, is_static_call=True, revert_on_failure=False
    )
    if not success:
        error: bytes4 = self._selector(result)
        if error == OFFCHAIN_LOOKUP:
            self._look_up_offchain(inquiry, result)
        if error == UNSUPPORTED_RESOLVER_PROFILE:
            raw_revert(result)
        raw_revert(abi_encode(result, method_id=method_id("ResolverError(bytes)")))
    if len(result) == 0:
        raw_revert(abi_encode(inquiry.selector, method_id=method_id("UnsupportedResolverProfile(bytes4)")))
    if inquiry.extended:
        return abi_decode(result, Bytes[MAX_RESULT - 64])
    return result


@internal
@view
def _look_up_offchain(inquiry: Inquiry, reverted: Bytes[MAX_RESULT]):
    sender: address = empty(address)
    urls: DynArray[String[MAX_URL], URLS] = []
    data: Bytes[MAX_CALL] = b""
    callback: bytes4 = empty(bytes4)
    extra: Bytes[MAX_CALL] = b""
    sender, urls, data, callback, extra = abi_decode(
        slice(reverted, 4, len(reverted) - 4),
        (address, DynArray[String[MAX_URL], URLS], Bytes[MAX_CALL], bytes4, Bytes[MAX_CALL]),
    )
    # A contract below the resolver cannot have look-ups made in the resolver's name (EIP-3668).
    if sender != inquiry.resolver:
        raw_revert(abi_encode(reverted, method_id=method_id("ResolverError(bytes)")))
    requests: DynArray[Request, 1] = [Request(sender=sender, urls=urls, data=data)]
    raw_revert(
        abi_encode(
            self,
            inquiry.gateways,
            abi_encode(requests, method_id=method_id("query((address,string[],bytes)[])")),
            method_id("resolveBatchCallback(bytes,bytes)", output_type=bytes4),
            abi_encode(inquiry, callback, extra),
            method_id=method_id("OffchainLookup(address,string[],bytes,bytes4,bytes)"),
        )
    )


@internal
@view
def _is_extended(resolver: address) -> bool:
    success: bool = False
    answer: Bytes[32] = b""
    # EIP-165: it takes less than 30,000 gas.
    success, answer = raw_call(
        resolver,
        abi_encode(EXTENDED_RESOLVER, method_id=method_id("supportsInterface(bytes4)")),
        max_outsize=32,
        gas=30000,
        is_static_call=True,
        revert_on_failure=False,
    )
    return success and len(answer) == 32 and convert(answer, uint256) == 1


@internal
@view
def _find(name: Bytes[MAX_NAME]) -> (address, bytes32, uint256):
    # Where each label begins, and the node of the name from there on.
    starts: DynArray[uint256, MAX_LABELS] = []
    at: uint256 = 0
    for _: uint256 in range(MAX_LABELS):
        length: uint256 = convert(slice(name, at, 1), uint256)
        if length == 0:
            break
        starts.append(at)
        at += length + 1
    assert at + 1 == len(name), "the name is not in DNS form"
    count: uint256 = len(starts)
    nodes: DynArray[bytes32, MAX_LABELS] = []
    node: bytes32 = empty(bytes32)
    for i: uint256 in range(count, bound=MAX_LABELS):
        start: uint256 = starts[count - 1 - i]
        length: uint256 = convert(slice(name, start, 1), uint256)
        node = keccak256(concat(node, keccak256(slice(name, start + 1, length))))
        nodes.append(node)
    for i: uint256 in range(count, bound=MAX_LABELS):
        resolver: address = staticcall Registry(REGISTRY).resolver(nodes[count - 1 - i])
        if resolver != empty(address):
            return resolver, node, starts[i]
    return empty(address), node, at


@internal
@pure
def _selector(data: Bytes[MAX_RESULT]) -> bytes4:
    if len(data) < 4:
        return empty(bytes4)
    return convert(slice(data, 0, 4), bytes4)
