"""Health checks, learning curves, comparisons, weights and stories of models."""
