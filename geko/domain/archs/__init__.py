"""Architecture tables, one TOML file a family; see :mod:`geko.domain.arch`."""
