"""Chunks in a Postgres database with pgvector, as a search system."""
