"""How numbers and formulas are written, as text, as LaTeX and as Typst."""
