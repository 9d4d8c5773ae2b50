"""The audit: the evidence that is collected from a store, and the findings."""
