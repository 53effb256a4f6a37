"""Audits of papers: what all of them share."""
