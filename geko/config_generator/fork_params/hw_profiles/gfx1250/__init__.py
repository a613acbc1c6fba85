"""Search spaces of the gfx1250 family."""
