"""What a rewrite kept, gave away and cost."""
