"""The services of a `Project`: one small class per topic."""
