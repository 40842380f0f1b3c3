"""Replay and off-policy evaluation of logs."""
