"""A step as a picture of its equation: which cell is worked, and what stands in the picture."""
