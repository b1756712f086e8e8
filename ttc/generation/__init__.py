"""Models of language that generate tokens: programs over one cache of keys and values, and the loop around them.

A model of transformers is wrapped so that its cache is states (cached_model), exported for chunks of one token and of several, and
compiled into one archive (compiling).  A generator (generator) runs the programs of such an archive, with the choice of tokens (sampling)
and the cut of prompts into chunks (chunks); it needs neither torch nor transformers.
"""
