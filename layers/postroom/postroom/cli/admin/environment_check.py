"""A check of a function's environment variables, by the function's own reader of them."""

from collections.abc import Mapping

import boto3

from postroom.core.errors import SettingsError
from postroom.core.settings import read_settings
from postroom.runtime.deployment import Deployment


def environment_fault(environment: Mapping[str, str]) -> str | None:
    """The error with which a function with these variables ends at its start; None: it starts."""
    try:
        deployment = Deployment(read_settings(environment), boto3.client)
        names, pipeline, mailbox_api = deployment.names, deployment.pipeline, deployment.mailbox_api
        names.resolvers.close()
        # Each raises when it is created.
        _ = names.anchors, pipeline.dm3_cors, pipeline.dm3_properties, mailbox_api.cors, mailbox_api.service_name
    except SettingsError as error:
        return str(error)
    return None
