"""What a teacher hands out: worksheets with blanks and their keys, and a quiz."""
