"""Code that protoc makes of payloads.proto."""
