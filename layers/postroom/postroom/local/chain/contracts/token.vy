# pragma version ==0.4.3
# pragma evm-version cancun
# A token (EIP-20), all of which its deployer has at first.

event Transfer:
    _from: indexed(address)
    _to: indexed(address)
    _value: uint256

event Approval:
    _owner: indexed(address)
    _spender: indexed(address)
    _value: uint256

name: public(constant(String[16])) = "Local Token"
symbol: public(constant(String[8])) = "LOCAL"
decimals: public(constant(uint8)) = 18
totalSupply: public(immutable(uint256))
balanceOf: public(HashMap[address, uint256])
allowance: public(HashMap[address, HashMap[address, uint256]])


@deploy
def __init__(supply: uint256):
    totalSupply = supply
    self.balanceOf[msg.sender] = supply
    log Transfer(_from=empty(address), _to=msg.sender, _value=supply)


@external
def transfer(_to: address, _value: uint256) -> bool:
    self._move(msg.sender, _to, _value)
    return True


@external
def transferFrom(_from: address, _to: address, _value: uint256) -> bool:
    self.allowance[_from][msg.sender] -= _value
    self._move(_from, _to, _value)
    return True


@external
def approve(_spender: address, _value: uint256) -> bool:
    self.allowance[msg.sender][_spender] = _value
    log Approval(_owner=msg.sender, _spender=_spender, _value=_value)
    return True


@internal
def _move(_from: address, _to: address, _value: uint256):
    # More than there is reverts: numbers do not go below 0.
    self.balanceOf[_from] -= _value
    self.balanceOf[_to] += _value
    log Transfer(_from=_from, _to=_to, _value=_value)
