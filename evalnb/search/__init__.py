"""One search: its request, its result, and what a system that searches has to offer."""
