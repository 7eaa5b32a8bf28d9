"""Owns the sessions with the MCP servers behind the gateway, and their catalogue."""
