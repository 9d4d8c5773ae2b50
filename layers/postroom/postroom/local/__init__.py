"""The deployed template on one machine: no AWS account, no Docker, nothing left running afterwards."""
