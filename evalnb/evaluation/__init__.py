"""One pinned run of many searches, everything retained."""
