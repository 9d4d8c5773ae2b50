"""The mailbox API as data: schemas of requests and responses, operations, limits, the OpenAPI document. Pure."""
