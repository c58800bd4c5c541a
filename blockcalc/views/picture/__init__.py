"""Pictures of steps on the screen: panels, the signs between them, and how they share a line."""
