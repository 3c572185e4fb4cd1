"""A run for other people's tools: flent, OMNeT++, viewers of qlog, whatever reads CSV."""
