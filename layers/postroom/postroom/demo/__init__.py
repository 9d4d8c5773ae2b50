"""The main job as a story, on the real template: `make demo`."""
