"""Tests of the whole post office. They share one local stack, which ends with the last of them."""
