"""Containers that owners store: rows, and the store that writes them and their objects."""
