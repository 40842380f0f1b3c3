"""The decision service: two verbs over HTTP, every decision and reaction on disk before it is answered."""
