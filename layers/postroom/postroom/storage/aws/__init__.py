"""Tables of DynamoDB: the codec of their rows, and the requests for them."""
