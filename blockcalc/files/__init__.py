"""Bytes to plain data with positions, and tensors in files."""
