# SPDX-License-Identifier: MIT
"""What tests with XPU devices share: daemons whose GPUs are made of software.

VRTD_XPU_DRIVER is the driver in the place of Intel's (tests/simulators/xpu), VRT_XPU_CACHE where it
keeps what it compiled. A daemon that uses the driver against the specification doesn't end well.
"""
import os

import cards
from cards import COMPACT_X4, film, frames  # pylint: disable=unused-import

DRIVER = os.environ.get('VRTD_XPU_DRIVER', '')


def environment(**more):
    """Of a daemon whose GPUs are the driver's: two, unless it is told."""
    env = os.environ | {'ZE_ENABLE_ALT_DRIVERS': DRIVER, 'VRT_XPU_DEVICES': '2'} | more
    if 'ZE_AFFINITY_MASK' not in more:
        env.pop('ZE_AFFINITY_MASK', None)
    return env


def figures(path):
    """What the driver counted, in its report of a process: by card and name."""
    with open(path, encoding='utf-8') as f:
        return {tuple(line.split()[:2]): int(line.split()[2]) for line in f}


class Case(cards.Case):
    """Two cards, and daemons beside that have other luck."""

    kind = 'xpu'
    environment = staticmethod(environment)
