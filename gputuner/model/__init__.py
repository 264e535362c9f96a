"""The words of the domain: readings, samples, cards, points, steps, advice, events and errors."""
