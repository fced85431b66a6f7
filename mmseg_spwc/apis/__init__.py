"""What can be done with the networks of a finished run."""
