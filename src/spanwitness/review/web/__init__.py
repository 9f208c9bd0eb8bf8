"""The review page: what a reviewer sees of an item, and the acts that are open to them."""
