"""What all other packages build on: errors, strict JSON, canonical texts, settings, caches."""
