"""What AWS's services are, read once: each session of boto3 reads it anew, and most tests have one of their own."""

import functools

import botocore.loaders
import botocore.session


def share_descriptions() -> None:
    """From now on all sessions of this process share what is read."""
    botocore.session.create_loader = functools.cache(botocore.loaders.create_loader)
