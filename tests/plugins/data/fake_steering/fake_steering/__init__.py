"""A plugin whose every text would steer a terminal."""
