"""The parts of the Typst format: text, matrices, lists, definitions, and setting it as PDF."""
