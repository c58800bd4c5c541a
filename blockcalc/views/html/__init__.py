"""HTML for notebooks: self-contained, readable on light and dark ground, every text escaped."""
