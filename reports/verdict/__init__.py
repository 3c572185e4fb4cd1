"""A run's summary: verdicts on claims, what to distrust, what caused the losses."""
