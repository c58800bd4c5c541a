"""Plain data to a checked spec."""
