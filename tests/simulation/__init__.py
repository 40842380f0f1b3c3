"""A deterministic simulation of the service's engine: writers, learner caches, stores, workers and a clock."""
