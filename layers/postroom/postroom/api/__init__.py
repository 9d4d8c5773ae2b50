"""The mailbox API as data: shapes of requests and answers, operations, limits, the OpenAPI document. Pure."""
