"""Which difference is real."""
