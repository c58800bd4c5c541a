"""Bytes to plain data with places, and tensors in files."""
