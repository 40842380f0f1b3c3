"""What we found, figure by figure, and why a claim fails."""

VERSIONS = ""
TABLES = {3: "", 4: "", 5: "", 6: ""}
FIGURES = {3: "", 4: "", 5: "", 6: "", 7: "", 8: ""}
