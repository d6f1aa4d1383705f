"""Gold as a table: one judgement a row, in csv, xlsx or a DataFrame."""
