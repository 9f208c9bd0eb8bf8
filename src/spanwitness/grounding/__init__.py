"""What the claims of an answer rest on: claims, matching, receipts and their states. Pure."""
