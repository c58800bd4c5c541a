"""Models on disk: detect the family, and write a file that refers to the weights."""
