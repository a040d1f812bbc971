"""Find segments in spectrograms and pictures, and edit their regions."""
