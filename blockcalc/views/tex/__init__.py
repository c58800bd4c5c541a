"""LaTeX: the macros of a document, and its matrices."""
