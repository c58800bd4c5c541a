"""Models on disk: which family they are of, and a file that refers to their weights."""
