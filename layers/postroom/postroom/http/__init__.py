"""Requests, responses and routing for both functions that speak HTTP, and the handlers of the mailbox API.

request.py, response.py     what is asked, and what is answered
router.py, cors.py          from a request to its handler
request_parts.py, conditions.py, ranges.py, cursors.py, private_responses.py    what handlers read and write
tokens.py, owner_keys.py, sign_in.py, registration.py, rate_limit.py            who asks, and how often
handlers.py                 the operations of `api.operations`, over:
message_listing.py, fetching.py, by_hash.py, usage.py      mail
own_settings.py, preferences.py                            settings
outbox.py, containers.py, notifications.py
"""
