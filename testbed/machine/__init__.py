"""The machine this runs on: processes, folders, consoles, the cache of what is built once."""
