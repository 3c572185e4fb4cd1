"""What is asked of distributions is what ``scipy.stats`` says, to the last bit; loaded by need."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from reports.inference import distributions
from testbed.command import cli

DEGREES = (1, 2, 3.7, 9, 49.5, 1e6)
T = np.array([-np.inf, -1e9, -40.5, -2.5, -1e-12, 0.0, 0.3, 1.0, 7.25, 1e9, np.inf, np.nan])


@pytest.mark.parametrize("df", DEGREES)
def test_students_t(df: float) -> None:
    np.testing.assert_array_equal(distributions.t_below(T, df), stats.t.cdf(T, df))
    np.testing.assert_array_equal(distributions.t_above(T, df), stats.t.sf(T, df))
    for p in (1e-12, 0.025, 0.05, 0.3, 0.5, 0.975, 1 - 1e-9):
        assert distributions.t_quantile(p, df) == stats.t.ppf(p, df)


@given(st.floats(allow_nan=False), st.floats(0.5, 1e8))
def test_students_t_of_any_number(t: float, df: float) -> None:
    assert float(distributions.t_below(t, df)) == stats.t.cdf(t, df)
    assert float(distributions.t_above(t, df)) == stats.t.sf(t, df)


@pytest.mark.parametrize("df", DEGREES)
def test_normal_and_chi_squared(df: float) -> None:
    z = np.linspace(-6, 6, 201)
    np.testing.assert_array_equal(distributions.normal_below(z), stats.norm.cdf(z))
    np.testing.assert_array_equal(distributions.normal_below(T), stats.norm.cdf(T))
    np.testing.assert_array_equal(distributions.normal_density(z), stats.norm.pdf(z))
    p = stats.norm.cdf(z)
    np.testing.assert_array_equal(distributions.chi2_quantile(p, df), stats.chi2.ppf(p, df))


@pytest.mark.parametrize("f", [-1e-15, 0.0, 1e-9, 0.5, 1.0, 4.5, 1e6])
def test_f(f: float) -> None:
    for degrees in ((1, 1), (3, 20), (9, 4000)):
        assert distributions.f_above(f, *degrees) == stats.f.sf(f, *degrees)


def test_the_command_does_not_load_them() -> None:
    """What a command loads before it does anything is waited for by everybody."""
    look = f"import sys, {cli.__name__}; sys.exit('scipy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", look], check=False, timeout=60).returncode == 0
