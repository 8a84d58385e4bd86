"""incidentlab: from raw cluster logs to charged interruptions, with the lines that prove them."""

__version__ = "0.1.0"
