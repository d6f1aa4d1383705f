"""What is right: cases with their labels, and the files they come from and go to."""
