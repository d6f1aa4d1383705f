"""Readers of documents, one file per format."""
