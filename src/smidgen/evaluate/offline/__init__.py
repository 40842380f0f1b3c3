"""What another policy would have earned, from a log with propensities; exported as `smidgen.offline`."""
