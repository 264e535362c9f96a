"""The queue: a command is started when a card has room for it, and followed until it has ended."""
