"""The MCP server that clients see: protocol, a call's way through the actors, and the `stm_*` tools."""
