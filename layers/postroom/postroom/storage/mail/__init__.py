"""Mail: rows of the tables `post` and `seen`, segments and chunks in the bucket."""
