"""The pages of the app, one module each; `widgets` has what they show."""
