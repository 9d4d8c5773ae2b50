"""The descriptions of AWS services, read once: otherwise every boto3 session, which most tests create, reads them."""

import functools

import botocore.loaders
import botocore.session


def share_descriptions() -> None:
    """Let all sessions of this process share the descriptions from now on."""
    botocore.session.create_loader = functools.cache(botocore.loaders.create_loader)
