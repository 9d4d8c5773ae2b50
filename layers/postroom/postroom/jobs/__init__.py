"""The work of the Glue jobs between Spark's exchanges, over `storage`: Python and AWS, without Spark.

Each stage takes an iterator and returns one, holds few items at a time, and may be repeated by any task.
"""
