"""The evidence: per source one live part (``*_live``) and one pure parser (``*_parse``)."""
