"""Rows of table `directory`: domains, mailboxes, notification targets."""
