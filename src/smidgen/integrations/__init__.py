"""Integrations for programs that use smidgen: agents over MCP, routers between language models."""
