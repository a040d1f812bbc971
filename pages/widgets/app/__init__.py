"""The frame around the pages: session, server, dialogs, navigation, background work."""
