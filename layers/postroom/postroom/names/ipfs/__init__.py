"""Files of IPFS, read from what gateways answer, of which no byte is believed before it is hashed."""
