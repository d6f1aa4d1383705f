"""Measure retrieval instead of guessing it."""
