"""The catalogue of mistakes: what each makes of a block, as data."""
