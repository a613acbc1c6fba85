"""What could be run: which combinations of kernel parameters tensilelite can build.

:mod:`geko.candidates.validity` is the model of tensilelite's own rejections; the configs come from
:mod:`geko.config_generator`.
"""
