"""Big replays: long logs from files, in bounded memory, and the work shared out by learner or by key."""
