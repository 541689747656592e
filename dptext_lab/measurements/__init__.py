"""One measurement per module, each with a command ``bench NAME``; its row types are in ``results``."""
