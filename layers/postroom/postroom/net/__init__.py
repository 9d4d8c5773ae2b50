"""Requests to other hosts and to AWS: the guarded HTTPS client, time limits, AWS's errors."""
