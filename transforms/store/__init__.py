"""The versioned layout: immutable content-addressed files, manifests, and one pointer that is swapped."""
