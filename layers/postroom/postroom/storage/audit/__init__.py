"""The audit: the evidence that a store gives, and what is found in it."""
