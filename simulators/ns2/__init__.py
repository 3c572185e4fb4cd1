"""ns-2: a cell as settings for it, its trace read as it comes, and tables of that as labs leave."""
