"""What the functions of the fixture share; it can only be imported from the layer."""

VERSION = 1
