"""The audits of what is published, each made once in a process."""

from functools import cache

import pytest

from dph_theory.audit.catalogue import LOSSES, audit_form

IN_ONE_PROCESS = pytest.mark.xdist_group("published audits")
report = cache(audit_form)


def reports(table, samples=None):
    return [report(index, table, samples=samples) for index in range(len(LOSSES[table]))]
