"""A trace turned into a document: headings, formulas, arithmetic, matrices, tables."""
