"""How numbers and formulas are written, as text and as LaTeX."""
