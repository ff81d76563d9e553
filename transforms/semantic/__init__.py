"""Where a text changes its subject: vectors of sentences, their distances, and the thresholds that make cuts."""
