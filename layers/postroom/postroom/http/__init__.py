"""The mailbox API's server side: requests, responses, authentication, and the handlers of its operations.

request.py, reply.py        what was asked, and what is answered; answers.py: the same of the inbox
cors.py, conditions.py, ranges.py, cursors.py, rate_limit.py
tokens.py, owner_keys.py, sign_in.py, registration.py      who asks
handlers.py                 every operation of `api.operations`: whether it is allowed, and its answer
message_listing.py, fetching.py, by_hash.py, usage.py      mail
own_settings.py, preferences.py                            settings
outbox.py, containers.py, notifications.py
"""
