"""Our private keys, in AWS Secrets Manager."""
