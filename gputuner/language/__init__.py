"""Words for people: codes and values become sentences in English or Simplified Chinese."""
