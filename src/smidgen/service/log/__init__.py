"""The log: events, their hash chain, their encodings."""
