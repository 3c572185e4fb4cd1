"""Small pictures drawn as SVG without a drawing library, in the colours of the page."""
