"""Pure functions from measured figures to judgements: statistics, fits, knees, limits. No I/O, no clocks."""
