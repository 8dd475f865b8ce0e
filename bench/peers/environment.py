"""The environment of processes that are measured."""
import os


def plain(**more):
    """This process's own, and more; without the variables that tell OpenBLAS which processor it is on: the
    peer picks its kernels itself."""
    environment = dict(os.environ, **more)
    for name in ('OPENBLAS_CORETYPE', 'OPENBLAS_L2_SIZE'):
        environment.pop(name, None)
    return environment
