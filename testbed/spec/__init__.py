"""Study files: reading them strictly, and resolving a point of one to a cell."""

from testbed.spec.load import Study, find_study, kernels_of_hosts, load_study, parse_study
from testbed.spec.resolve import resolve_cell
from testbed.spec.sweep import Parameter, Point

__all__ = [
    "Parameter",
    "Point",
    "Study",
    "find_study",
    "kernels_of_hosts",
    "load_study",
    "parse_study",
    "resolve_cell",
]
