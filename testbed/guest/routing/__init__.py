"""Who routes in a network of radios: an adapter per protocol, and the list of them."""
