"""Turn a trace into a document: headings, formulas, arithmetic, matrices, tables."""
