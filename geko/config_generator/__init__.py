"""From a GEMM type and its sizes to tuning configs of tensilelite.

:func:`geko.config_generator.load_input_config.load_requests` reads a generator YAML,
:func:`geko.config_generator.config_generator.generate` makes the configs in memory and
:func:`geko.config_generator.config_generator.run` writes them. ``docs/tuning-configs.md`` describes all keys
and rules.
"""
