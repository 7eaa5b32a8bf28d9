"""Transport between the actors: typed messages over ZeroMQ. Knows nothing about MCP or memories."""
