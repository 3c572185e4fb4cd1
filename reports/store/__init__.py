"""A run folder, read into typed records; the only room of reports that reads files."""
