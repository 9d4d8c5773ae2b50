"""What the Glue jobs do between Spark's exchanges, over `store`: Python and AWS, and nothing of Spark.

Each stage takes an iterator and gives one, holds few things of it at a time, and may be repeated by anyone.
"""
