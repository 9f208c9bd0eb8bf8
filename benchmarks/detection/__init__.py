"""How well the rules find real and planted failures of real runs, and how often they cry wolf."""
