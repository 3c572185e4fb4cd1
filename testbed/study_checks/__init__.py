"""What several settings of a study must agree on; what nothing could run is refused here."""
