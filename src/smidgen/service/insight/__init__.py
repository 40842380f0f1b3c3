"""What the log tells people: curves, stories, audits, what-if."""
