"""The backward pass of a spec: loss, gradients, central differences, stacks."""
