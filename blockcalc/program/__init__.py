"""Equations without numbers, working them, and their gradient."""
