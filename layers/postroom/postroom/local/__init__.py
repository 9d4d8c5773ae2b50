"""The deployed template on one machine: no AWS account, no Docker, no processes left afterwards."""
