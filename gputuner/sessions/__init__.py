"""Session files: the event stream kept in SQLite, given back, listed and exported. Knows ``sqlite3`` (so does jobs)."""
