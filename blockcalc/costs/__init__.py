"""What a block costs, from shapes alone: parameters, operations, bytes."""
