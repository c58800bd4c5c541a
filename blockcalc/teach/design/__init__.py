"""Blocks whose numbers are short: the search, the score, the file and the report."""
