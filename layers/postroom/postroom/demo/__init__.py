"""The main job told as a story, on the real template: the town it plays in, and its scenes."""
