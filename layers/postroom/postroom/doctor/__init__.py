"""Checks of a domain from outside: can it send and receive, and if not, what must be done?

`examine` does the look-ups and requests. Rules without I/O judge the results, in a module for each subject.
"""

from postroom.doctor.checks import CheckStatus, DoctorCheck, overall
from postroom.doctor.examine import Patient, examine
from postroom.doctor.network import ExaminerNetwork

__all__ = ["CheckStatus", "DoctorCheck", "ExaminerNetwork", "Patient", "examine", "overall"]
