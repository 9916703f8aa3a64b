"""Random programs whose gradients are compared with differences of their forward pass."""
