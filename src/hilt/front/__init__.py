"""The front door: what `import hilt` offers, built from the rooms below it."""
