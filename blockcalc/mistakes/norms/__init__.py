"""Mistakes in LayerNorm and RMSNorm: what is divided by, what it is taken over, and gains."""
