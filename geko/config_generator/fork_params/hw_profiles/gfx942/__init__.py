"""Search spaces of the gfx942 family."""
