"""Reading documents of every format into the workspace."""
