"""Programs hung from interfaces of a cell's network, which drop or count packets of its flows."""
