"""Fork parameters: the axes of a tuning config, by chip family and search space."""
