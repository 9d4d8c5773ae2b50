"""Keys and primitives."""
