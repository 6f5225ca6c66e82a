"""Compiled functions, their cache, bits and threads."""

from fsframe.kernels.numba_threads import unset_senseless_threads

# Before any module of this package imports numba.
unset_senseless_threads()
