"""A visit from outside: has a domain all that it needs to send and to receive, and what is to be done where not.

`examine` asks and hands on; what it finds is judged by rules without I/O, a module for each thing that is looked at.
"""

from postroom.doctor.checks import Check, Status, overall
from postroom.doctor.examine import Patient, examine
from postroom.doctor.outside import Outside

__all__ = ["Check", "Outside", "Patient", "Status", "examine", "overall"]
