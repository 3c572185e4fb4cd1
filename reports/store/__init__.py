"""A run folder, read into typed records: the only room that reads what a report is made of."""
