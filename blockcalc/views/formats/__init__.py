"""The export formats, one file each."""
