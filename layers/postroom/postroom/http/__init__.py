"""Requests, responses and routing of both HTTP functions, and the handlers of the mailbox API.

request.py, response.py, media_type.py    requests and responses as values
router.py, cors.py          from a request to its handler
request_parts.py, conditions.py, ranges.py, cursors.py, private_responses.py    what handlers read and write
tokens.py, owner_keys.py, sign_in.py, registration.py, rate_limit.py            authentication and rate limits
mailbox_router.py           from an operation of `api.operations` to its handler:
fetching.py                 reading the messages of rows, and the error if contents cannot be read
mail_handlers.py            messages; over message_listing.py, dm3_reference.py, usage.py, waits.py
handlers.py                 all else: signing in, settings, …; over:
nlweb_settings.py, preferences.py                            settings
outbox.py, containers.py, notification_targets.py
"""
