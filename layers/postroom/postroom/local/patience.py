"""The time limit of everything on the local stack that AWS, or a network, would end sooner: only what hangs reaches it.

On one machine, with whatever else it does, a function may need a minute for what takes a second on AWS. No function of
AWS may take longer than this.
"""

from typing import Final

PATIENCE_SECONDS: Final = 900
