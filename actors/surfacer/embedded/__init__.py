"""The embedded LTM: a small MCP server over a folder of Markdown notes, for machines without a memory server."""
