"""What lasts: the log, the states, the tokens, behind one door."""
