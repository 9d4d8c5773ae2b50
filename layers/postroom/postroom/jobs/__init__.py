"""The work of the Glue jobs between Spark's exchanges, over `storage`: Python and AWS, without Spark.

Each stage takes an iterator and returns one, holds few items at a time, and may be repeated by any task.

due_hours.py, survey.py, reading.py     which hours are read, and the state of each line there
moving.py, pieces.py                    live lines become chunks; rows are repointed
past_lines.py, object_deletion.py       objects whose lines are all past are deleted
temporary_objects.py, container_garbage.py, quarantine.py    other objects
expiring.py, holds.py                   messages that expire, unless their mailbox is held
bucket.py, registers.py, scanning.py    S3 and DynamoDB, as a job uses them
pace.py, paced_requests.py, prefetch.py, tasks.py, tally.py    rates, retries, threads, counts
report.py, report_storage.py, settings.py, library.py
"""
