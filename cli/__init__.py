"""The `mms` command: one module per command group, each imported when it is used."""
