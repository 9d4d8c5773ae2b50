"""postroom: a serverless post office for domains and names."""
