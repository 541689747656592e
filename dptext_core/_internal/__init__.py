"""What every room needs, and nobody outside: the files that come with the package, checks, caches, devices."""
