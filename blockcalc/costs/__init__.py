"""The cost of a block, from shapes alone: parameters, operations, bytes."""
