"""From a study file to its points, and from a point with a seed to a cell."""
