"""Loss that is noticed and made good: checks of a data folder, backups, and the way back."""
