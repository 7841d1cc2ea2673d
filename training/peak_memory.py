"""How much memory has this process held?"""

import resource
import sys


def peak_gib():
    """Return the most memory that this process has held, in GiB."""
    # Linux counts in KiB, macOS in bytes.
    unit = 2**30 if sys.platform == "darwin" else 2**20
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
