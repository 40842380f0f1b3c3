"""Between the wire and the learners: one file per loop."""
