"""The bundled performance measures, each a class with its formula."""
