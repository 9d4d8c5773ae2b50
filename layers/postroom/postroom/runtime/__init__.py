"""The code that runs on Lambda: the objects of a deployment, with AWS behind them; events, logs and metrics.

deployment.py               the composition root: `Deployment(settings, clients)`; the only module that tools need
storage_parts.py, name_parts.py, pipeline_parts.py, outbound_parts.py, mailbox_parts.py
                            its parts, one for each package; each is imported and made when first used
parts.py                    their base
jobs/                       the objects and the AWS clients of the Glue jobs; not in the layer
system.py, aws_clients.py   clock, randomness and threads; AWS clients
function_clients.py         the AWS clients of a function
adapters.py                 the implementations of ports other than DNS and storage
inbox_routes.py, dm3_routes.py
                            the routes of functions/inbox and functions/dm3
inbox_log_lines.py          the log lines and metrics of their responses
batches.py, http_events.py  the shapes of Lambda's events
garbage_collection.py       garbage collection while a function starts
logs.py, own_faults.py
"""
