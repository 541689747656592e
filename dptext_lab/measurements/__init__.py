"""One measurement a file, each with a command ``bench NAME``; the type of its rows is in ``results``."""
