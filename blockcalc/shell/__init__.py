"""The command line: parsing, help pages, completion."""
