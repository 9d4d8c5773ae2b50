"""Checks of a domain from outside: can it send and receive, and if not, what must be done.

`examine` asks and hands on; what it finds is judged by rules without I/O, a module for each thing that is looked at.
"""

from postroom.doctor.checks import CheckStatus, DoctorCheck, overall
from postroom.doctor.examine import Patient, examine
from postroom.doctor.outside import Outside

__all__ = ["CheckStatus", "DoctorCheck", "Outside", "Patient", "examine", "overall"]
