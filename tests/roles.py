"""Credentials of a role of a local deployment."""

from postroom.local.clients import REGION, clean_session
from postroom.local.stack import LocalDeployment


def session_of(deployment: LocalDeployment, role: str) -> dict[str, str]:
    """The environment variables with credentials of a role, given by its ARN."""
    sts = clean_session().client(
        "sts",
        endpoint_url=deployment.client.endpoint,
        region_name=REGION,
        aws_access_key_id=deployment.account,
        aws_secret_access_key=deployment.client.at.secret,
    )
    given = sts.assume_role(RoleArn=role, RoleSessionName="test")["Credentials"]
    return {
        "AWS_ACCESS_KEY_ID": given["AccessKeyId"],
        "AWS_SECRET_ACCESS_KEY": given["SecretAccessKey"],
        "AWS_SESSION_TOKEN": given["SessionToken"],
    }
