"""Symbolic programs of equations, running them, and their gradients."""
