"""What runs on Lambda: a deployment's objects, fitted to AWS; events, logs and metrics.

deployment.py               the composition root: `Deployment(settings, clients)`; the only module that tools need
storage_parts.py, name_parts.py, pipeline_parts.py, outbound_parts.py, mailbox_parts.py
                            its parts, each imported and built when first asked for, by the room they are of
system.py, aws_clients.py   what it is made of: clock, randomness and threads; AWS clients
aws.py                      the AWS clients of a function
adapters.py                 what stands behind the ports that are neither DNS nor storage
inbox_routes.py             the routes of functions/inbox
batches.py, http_events.py  the shapes of Lambda's events
logs.py, own_faults.py
"""
