"""Judge a person's numbers: the first wrong step, its reason, and whether it is more than rounding."""
