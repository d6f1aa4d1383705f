"""Tables, charts, notebooks and the one HTML file."""
