"""The front door: what `import hilt` offers, made from the rooms behind it."""
