"""Orchestration: study file -> plan -> cells run in a lab -> run folder."""
