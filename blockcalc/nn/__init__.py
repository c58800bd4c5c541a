"""The parts of a Transformer block, as functions that write equations."""
