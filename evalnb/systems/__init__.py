"""Other people's search, behind the two protocols."""
