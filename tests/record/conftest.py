"""One small recording that the tests read, cut and damage."""

import pytest

from hilt import job


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run of 501 rows in two chunks."""
    return job.run(*job.find("freefloat", "paper", []), tmp_path_factory.mktemp("recording"))


@pytest.fixture(scope="module")
def data(run):
    return run.recording.read_bytes()
