"""The base of all other packages: errors, strict JSON, canonical texts, settings, caches."""
