"""Plots and tables over a survey, with their filters."""
