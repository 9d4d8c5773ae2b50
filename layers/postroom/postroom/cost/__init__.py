"""A deployment's monthly bill, from the requests that were counted and AWS's prices."""
