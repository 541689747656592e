"""What is looked at: figures, exported files, lessons, references."""
