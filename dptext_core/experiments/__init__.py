"""DP-Rewrite's modes over data sets of one's own: rewrite, downstream, compare, and the paper's case study."""
