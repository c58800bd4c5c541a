"""The catalogue of mistakes, as data: what each changes in a block."""
