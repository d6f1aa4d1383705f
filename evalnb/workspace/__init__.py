"""The embedded knowledge base: a store, pinned snapshots, prebuilt indexes, one pipeline."""
