"""Algorithms of the past, to be measured against: the paper's cautionary tales.

Each computes what the library computes, in a higher complexity, and each is as quick as batches of
matrices allow within that complexity. The library never imports them.
"""
