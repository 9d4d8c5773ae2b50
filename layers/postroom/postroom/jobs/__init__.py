"""The work of the Glue jobs between Spark's exchanges, over `storage`: Python and AWS, without Spark.

Each stage takes an iterator and gives one, holds few things of it at a time, and may be repeated by anyone.
"""
