# SPDX-License-Identifier: MIT
"""Intel's own driver without hardware: what the tests of this folder share.

Its debug keys have it make devices of a family that is named, compile modules, take lists of
commands, and write what a card would get into a file (here /dev/null) instead of executing it.
Nothing is computed, and so no result is looked at (VRT_TEST_NO_RESULTS). What is looked at is what
was asked of the driver, and what it answered: recorder.c stands before the real loader and counts.

VRT_INTEL_RECORDER is the recorder, VRTD_BUILD the build folder. Where there is no such
driver, tests are skipped.
"""
import collections
import ctypes
import os
import re
import subprocess
import sys
import tempfile

BUILD = os.environ['VRTD_BUILD']

# What was compiled for any of these tests, but for those that look at compiling.
CACHE = os.path.join(BUILD, 'tests', 'intel', 'cache')

# A folder where the recorder has the loader's name.
FOLDER = tempfile.TemporaryDirectory(prefix='vrt-intel.')
os.symlink(os.environ['VRT_INTEL_RECORDER'], os.path.join(FOLDER.name, 'libze_loader.so.1'))

PATIENCE_S = 600

# The shape of a GPU that there is (slices x subslices x units), and what else the driver must be
# told where no kernel tells it. adlp is not among them: the driver counts no threads for it then.
FAMILIES = {
    'dg2': {'HardwareInfoOverride': '8x4x8', 'ForceDeviceId': '56a0', 'OverrideRevision': '8'},
    'dg2-plain': {'ProductFamilyOverride': 'dg2', 'HardwareInfoOverride': '8x4x8'},
    'tgllp': {'HardwareInfoOverride': '1x6x16'},
    'adls': {'HardwareInfoOverride': 'default'},
    'icllp': {'HardwareInfoOverride': '1x8x8'},
    'skl': {'HardwareInfoOverride': '1x3x8'},
    'xe_hp_sdv': {'HardwareInfoOverride': '8x4x8', 'NodeOrdinal': '0'},
    'pvc': {'HardwareInfoOverride': '8x8x8'},
}

# With matrix units that the kernels are for: dg2-plain has an id that says nothing of them.
WITH_DPAS = ('dg2',)

# What no driver can tell without a kernel: counted, and no failure.
UNKNOWN = {'zeDevicePciGetPropertiesExt', 'zesDeviceEnumMemoryModules',
           'zesDeviceEnumTemperatureSensors', 'zesDeviceEnumPowerDomains',
           'zesDeviceEnumEngineGroups'}
UNINITIALIZED = 0x78000001

Kernel = collections.namedtuple('Kernel', 'n_launches spill_bytes')


def real_loader():
    """The path of the machine's loader; None: it has none."""
    try:
        ctypes.CDLL('libze_loader.so.1')
    except OSError:
        return None
    with open('/proc/self/maps', encoding='utf-8') as f:
        return next((line.split()[-1] for line in f if 'libze_loader.so' in line), None)


def environment(family, **more):
    """Of a program whose GPU is of this family, behind the recorder."""
    env = {k: v for k, v in os.environ.items() if not k.startswith('ZE')}
    env |= {
        'NEOReadDebugKeys': '1', 'SetCommandStreamReceiver': '1',
        'AUBDumpCaptureFileName': '/dev/null', 'ProductFamilyOverride': family,
        # Newer drivers (26.27) start without hardware only so.
        'UseAubStream': '0', 'UseBindlessMode': '0',
        'ZE_ENABLE_LOADER_INTERCEPT': '1', 'ZE_ENABLE_PARAMETER_VALIDATION': '1',
        'ZE_ENABLE_VALIDATION_LAYER': '1', 'VRT_TEST_NO_RESULTS': '1',
        'LD_LIBRARY_PATH': ':'.join(filter(None, [FOLDER.name, os.environ.get('LD_LIBRARY_PATH')])),
        'VRT_RECORD_LOADER': real_loader() or '',
    }
    return env | FAMILIES.get(family, {}) | more


class Record:
    """What the recorder counted."""

    def __init__(self, text):
        self.calls, self.failed, self.kernels = collections.Counter(), collections.Counter(), {}
        self.modules, self.n_bytes = {}, 0
        for kind, *rest in (line.split() for line in text.splitlines()):
            if kind == 'call':
                self.calls[rest[0]] += int(rest[1])
            elif kind == 'failed':
                self.failed[rest[0], int(rest[1], 16)] += int(rest[2])
            elif kind == 'kernel':
                old = self.kernels.get(rest[0], Kernel(0, 0))
                self.kernels[rest[0]] = Kernel(old.n_launches + int(rest[1]), int(rest[2]))
            elif kind == 'module':
                self.modules[rest[0]] = int(rest[1])
            else:
                self.n_bytes = int(rest[0])

    def failures(self):
        """The calls that failed and should not have."""
        return {f'{call}: {result:x}': n for (call, result), n in self.failed.items()
                if not (call in UNKNOWN and result == UNINITIALIZED)}


def run(command, env, patience_s=PATIENCE_S):
    """The finished process, what it wrote in one text, and its record; None where it left none."""
    with tempfile.NamedTemporaryFile('r', prefix='vrt-intel.') as file:
        done = subprocess.run(command, env=env | {'VRT_RECORD': file.name}, check=False, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              errors='replace', timeout=patience_s)
        text = file.read()
    return done, done.stdout, Record(text) if text else None


def devices(family, **more):
    """What list-devices says of the registry, line by line."""
    program = os.path.join(BUILD, 'tests/simulators/nvidia/list-devices')
    return run([program], environment(family, **more))[1].splitlines()


def need_driver():
    """Ends the test as skipped where there is no such driver."""
    if any(line.startswith('xpu:0\t') for line in devices('dg2')):
        return
    if real_loader() and any('driver of version' in line for line in devices('dg2')):
        print('skipped: the driver that is installed makes no devices without hardware')
    else:
        print("skipped: Intel's driver is not installed (Debian 12: intel-opencl-icd; Debian 13 "
              'has none)')
    sys.exit(77)


def driver_version():
    """'1.3.24595'."""
    return next(re.search(r'version ([0-9.]+)', line).group(1) for line in devices('dg2')
                if 'driver of version' in line)
