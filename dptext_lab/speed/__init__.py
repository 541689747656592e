"""Our own speed and memory, beside plain loops timed in the same run."""
