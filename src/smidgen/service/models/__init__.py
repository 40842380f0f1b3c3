"""Models at work: settings, learners, decisions, feedback, one writer."""
