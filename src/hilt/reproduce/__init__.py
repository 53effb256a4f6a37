"""Audits of papers: the parts that all of them share."""
