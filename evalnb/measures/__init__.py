"""How good one result is: pure functions, from gold and result to a score."""
