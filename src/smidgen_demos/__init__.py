"""Demos of the service, loaded as plugins: a search box that learns from clicks, drafts that learn a style.

They are a package of their own: nothing in `smidgen` imports them. The service loads them by name, as it loads the
modules that ``--import`` names.
"""
