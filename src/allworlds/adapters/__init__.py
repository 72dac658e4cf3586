"""Thin bridges to packages people already use: river, gymnasium and coba.

Each file imports its package, so import the one you need: ``from allworlds.adapters.river import RiverPolicy``. What
they need is installed by ``pip install "allworlds[adapters]"``. ``allworlds.ModelSelector`` needs none of them: it
takes whatever has the methods of a model.
"""
