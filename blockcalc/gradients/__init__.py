"""The backward pass of a spec: loss, gradients, differences, stacks."""
