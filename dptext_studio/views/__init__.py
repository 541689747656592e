"""The body of each page, one folder for each page."""
