"""Stores: SQLite and PostgreSQL behind one protocol, snapshots, the data folder."""
