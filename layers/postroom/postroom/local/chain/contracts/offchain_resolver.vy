# pragma version ==0.4.3
# pragma evm-version cancun
# A resolver whose records a gateway has: ENSIP-10 for all names below one, EIP-3668 for the gateway. It believes what
# its signer signed for it, for this request, and for no longer than it says. The limits are this contract's own.
#
# With more than one round, it has the same answered again that often, as a resolver may (EIP-3668).

URLS: constant(uint256) = 4
MAX_URL: constant(uint256) = 256
MAX_NAME: constant(uint256) = 256
MAX_CALL: constant(uint256) = 512
MAX_REQUEST: constant(uint256) = 1024
MAX_RESULT: constant(uint256) = 8448
MAX_RESPONSE: constant(uint256) = 8960
RESOLVE_WITH_PROOF: constant(bytes4) = method_id("resolveWithProof(bytes,bytes)", output_type=bytes4)

SIGNER: immutable(address)
ROUNDS: immutable(uint256)
gateways: DynArray[String[MAX_URL], URLS]


@deploy
def __init__(urls: DynArray[String[MAX_URL], URLS], signer: address, rounds: uint256):
    assert signer != empty(address)
    self.gateways = urls
    SIGNER = signer
    ROUNDS = rounds


@external
@view
def resolve(name: Bytes[MAX_NAME], data: Bytes[MAX_CALL]) -> Bytes[MAX_RESULT]:
    self._look_up_offchain(abi_encode(name, data, method_id=method_id("resolve(bytes,bytes)")), ROUNDS)
    return b""


@external
@view
def resolveWithProof(response: Bytes[MAX_RESPONSE], extraData: Bytes[MAX_REQUEST + 96]) -> Bytes[MAX_RESULT]:
    result: Bytes[MAX_RESULT] = b""
    expires: uint64 = 0
    signature: Bytes[65] = b""
    result, expires, signature = abi_decode(response, (Bytes[MAX_RESULT], uint64, Bytes[65]))
    request: Bytes[MAX_REQUEST] = b""
    rounds: uint256 = 0
    request, rounds = abi_decode(extraData, (Bytes[MAX_REQUEST], uint256))
    assert block.timestamp <= convert(expires, uint256), "the signature has expired"
    # EIP-191, version 0: what this contract alone understands.
    signed: bytes32 = keccak256(
        concat(
            0x1900, convert(self, bytes20), convert(expires, bytes8), keccak256(request), keccak256(result)
        )
    )
    assert len(signature) == 65, "the signature is not one of 65 bytes"
    signer: address = ecrecover(
        signed, convert(slice(signature, 64, 1), uint8), extract32(signature, 0), extract32(signature, 32)
    )
    assert signer == SIGNER, "the signature is not the signer's"
    if rounds > 1:
        self._look_up_offchain(request, rounds - 1)
    return result


@external
@pure
def supportsInterface(interfaceID: bytes4) -> bool:
    # EIP-165, ENSIP-10
    return interfaceID in [0x01ffc9a7, 0x9061b923]


@internal
@view
def _look_up_offchain(request: Bytes[MAX_REQUEST], rounds: uint256):
    raw_revert(
        abi_encode(
            self,
            self.gateways,
            request,
            RESOLVE_WITH_PROOF,
            abi_encode(request, rounds),
            method_id=method_id("OffchainLookup(address,string[],bytes,bytes4,bytes)"),
        )
    )
