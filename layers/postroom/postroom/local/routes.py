"""The routes of deployed APIs, and their functions or own answers, as the embedded AWS knows them."""

from typing import Final

from postroom.core.errors import OurError
from postroom.local.clients import Clients

_FIXED_REQUEST: Final = '{"statusCode": 200}'
_PROGRAM: Final = "$#\\"
"""Characters that mean something in a mapping template (Velocity)."""


def find_functions(api_id: str, clients: Clients) -> dict[str, str]:
    """Return the function (name or ARN) of each route of an API that has one, by route key."""
    client = clients("apigatewayv2")
    functions = {
        integration["IntegrationId"]: integration["IntegrationUri"]
        .split("/functions/", 1)[-1]
        .removesuffix("/invocations")
        for page in client.get_paginator("get_integrations").paginate(ApiId=api_id)
        for integration in page["Items"]
        if integration["IntegrationType"] == "AWS_PROXY"
    }
    targets = _find_targets(api_id, clients)
    return {key: functions[target] for key, target in targets.items() if target in functions}


def find_fixed_answers(api_id: str, clients: Clients) -> dict[str, str]:
    """Return the text by which each route of a WebSocket API answers that has no function, by route key.

    Raises OurError for integrations that answer otherwise than all messages by one text.
    """
    client = clients("apigatewayv2")
    answers = {}
    for key, target in _find_targets(api_id, clients).items():
        integration = client.get_integration(ApiId=api_id, IntegrationId=target)
        if integration["IntegrationType"] == "AWS_PROXY":
            continue
        responses = client.get_integration_responses(ApiId=api_id, IntegrationId=target)["Items"]
        texts = [text for each in responses for text in each.get("ResponseTemplates", {}).values()]
        is_fixed = (
            integration["IntegrationType"] == "MOCK"
            and list(integration.get("RequestTemplates", {}).values()) == [_FIXED_REQUEST]
            and [each["IntegrationResponseKey"] for each in responses] == ["$default"]
            and len(texts) == 1
            and not set(_PROGRAM) & set(texts[0])
        )
        if not is_fixed:
            raise OurError(f"the local stack does not know what the route {key} of a WebSocket API answers")
        answers[key] = texts[0]
    return answers


def _find_targets(api_id: str, clients: Clients) -> dict[str, str]:
    """The id of the integration of each route, by route key."""
    return {
        route["RouteKey"]: route["Target"].removeprefix("integrations/")
        for page in clients("apigatewayv2").get_paginator("get_routes").paginate(ApiId=api_id)
        for route in page["Items"]
    }
