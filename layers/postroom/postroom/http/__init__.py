"""The counter: owners prove who they are, see what waits, fetch it, and acknowledge it.

`wiring.build_counter` fits it to AWS; `operations` is the list of what it answers, which `openapi` tells the world.
"""
