"""Search spaces of the gfx950 family."""
