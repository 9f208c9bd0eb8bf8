"""Where rules look: the engine, and one file a rule."""
