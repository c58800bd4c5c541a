"""Judge a person's numbers: the first wrong step, its reason, and what is only rounding."""
