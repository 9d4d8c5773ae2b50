"""The time limit of everything on the local stack that AWS, or a network, would end sooner: only what hangs reaches it.

On one machine, with whatever else it does, a function may need a minute for what takes a second on AWS. No function of
AWS may take longer than this.
"""

from typing import Final

PATIENCE_SECONDS: Final = 900
FUNCTION_SECONDS: Final = 600
"""Of an invocation: less than the visibility timeouts of queues, after which a message is delivered once more."""
PATIENT_SETTINGS: Final = {
    "DM3_LOOKUP_SECONDS": "60",
    "MANIFEST_SECONDS": "60",
    "OUTBOUND_CONNECT_SECONDS": "60",
    "OUTBOUND_TOTAL_SECONDS": "120",
}
"""Of functions whose hosts are all on this machine: an address that is too slow is left alone for minutes."""
