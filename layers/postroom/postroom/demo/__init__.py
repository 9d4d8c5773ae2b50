"""The demo (`make demo`): scenes with the deployed template, from a first message to compaction."""
