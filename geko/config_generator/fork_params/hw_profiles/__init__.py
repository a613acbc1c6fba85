"""One package per chip family: its instruction table and its search spaces."""
