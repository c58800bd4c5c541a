"""Primitive operations: shape, value, formula, cell, gradient and cost of each."""
