"""Rows of table `limits`: quotas, rates, and challenges that were used."""
