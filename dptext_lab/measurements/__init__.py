"""One measurement a file, each with a row type and a command ``bench NAME``."""
