"""What everything else stands on: errors, strict JSON, canonical texts, settings, caches."""
