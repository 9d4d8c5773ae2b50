"""Look-ups of names in ENS: what endpoints and gateways are asked, and what of their answers counts."""
