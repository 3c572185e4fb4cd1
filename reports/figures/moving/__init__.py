"""A mobile network's movement as a picture that plays on the page, without a drawing library."""
