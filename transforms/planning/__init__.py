"""What a chunking policy costs and can achieve, as arithmetic: no Beam, and no loop over documents."""
