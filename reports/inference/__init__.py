"""From values over seeds to means, intervals, and how sure a comparison is."""
