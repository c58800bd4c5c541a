"""What Python gets: runs, specs and counts that show themselves in a notebook and at a prompt."""
