"""Policies: each looks at a request, its facts and the run, and answers with a verdict."""
