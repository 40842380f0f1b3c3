"""The engine: models, learners, decisions, feedback, one writer."""
