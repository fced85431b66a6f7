"""Pictures and tables, drawn from records only."""
