"""The live page: a block that is computed again in the reader's browser."""
