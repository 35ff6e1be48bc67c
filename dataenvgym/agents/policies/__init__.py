"""Policies turn the student's evaluated instances into a plan."""
