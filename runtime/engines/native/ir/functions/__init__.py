"""Elementwise functions as code: public names of these modules are mnemonics of nn ops (a trailing underscore is dropped)."""
