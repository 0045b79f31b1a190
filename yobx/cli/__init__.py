"""The command line: ``yobx convert``, ``yobx check``, ``yobx infer`` and ``yobx ops``.

Every command is a thin layer over the library; frameworks are imported only by the command that
needs them, so that ``yobx --help`` answers at once.
"""
