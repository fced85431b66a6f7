"""From a user's files to the checked config of every step."""
