"""The command line: the same engine and sessions as the window, without Qt."""
