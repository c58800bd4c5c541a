"""The command line as a shell sees it: words, help pages, completion."""
