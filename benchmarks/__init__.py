"""Speed against peers, as ratios measured in one interleaved run."""
