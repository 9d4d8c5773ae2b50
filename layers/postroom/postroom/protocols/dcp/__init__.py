"""DCP version 4: signed sessions and authorized requests: the rules, without input or output."""
