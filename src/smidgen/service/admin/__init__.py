"""Check, verify, back up, restore and copy data."""
