"""Train the bundled models."""
