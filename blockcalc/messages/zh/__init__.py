"""The Chinese texts, a table for each English one; terms are those of the articles."""
