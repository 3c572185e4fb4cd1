"""What a run with ``--reps auto`` is to reach, and its bounds. Pure.

The rule looks at the width of an interval, which may be wanted as a part of the mean; verdicts are
corrected for every number of runs at which it could have stopped, so it may look at what it likes.
"""

from __future__ import annotations

from model.run_files.study import Precision
from testbed.points.load_study import Study
from testbed.study.study_form import Replication

#: How precisely a mean is wanted unless the study says: this part of it, either way.
RELATIVE_HALF_WIDTH = 0.05


def wanted_precision(study: Study) -> Precision:
    """Return what ``--reps auto`` is to reach: the study's own, or a part of the mean."""
    wanted = study.settings.replication
    if wanted is None:
        default = Replication.model_fields
        return Precision(
            metric=None,
            half_width=None,
            relative_half_width=RELATIVE_HALF_WIDTH,
            at_least=default["at_least"].default,
            at_most=default["at_most"].default,
        )
    return Precision(
        metric=wanted.metric,
        half_width=wanted.half_width,
        relative_half_width=None,
        at_least=wanted.at_least,
        at_most=wanted.at_most,
    )
