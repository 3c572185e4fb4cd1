"""A finished cell's tables: from raw files to typed Parquet."""
