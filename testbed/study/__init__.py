"""Study files: their form, read strictly, with every problem at its line."""
