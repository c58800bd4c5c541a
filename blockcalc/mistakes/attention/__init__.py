"""Mistakes in attention: scores, masks, the softmax, positions and heads."""
