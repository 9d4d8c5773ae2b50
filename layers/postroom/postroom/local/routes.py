"""The routes of deployed APIs, and their functions, as the embedded AWS knows them."""

from postroom.local.clients import Clients


def find_functions(api_id: str, clients: Clients) -> dict[str, str]:
    """Return the function (name or ARN) of each route of an API, by route key."""
    client = clients("apigatewayv2")
    functions = {
        integration["IntegrationId"]: integration["IntegrationUri"]
        .split("/functions/", 1)[-1]
        .removesuffix("/invocations")
        for page in client.get_paginator("get_integrations").paginate(ApiId=api_id)
        for integration in page["Items"]
    }
    return {
        route["RouteKey"]: functions[route["Target"].removeprefix("integrations/")]
        for page in client.get_paginator("get_routes").paginate(ApiId=api_id)
        for route in page["Items"]
    }
