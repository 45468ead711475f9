# SPDX-License-Identifier: MIT
"""A Slurm of the test's own: munged, slurmctld and slurmds of several nodes on this machine, by
hand, in a temporary folder, on ports of its own, as whoever runs the test. Each node has two cards,
which are device files and nothing else; who submits to the partition urgent has nodes that tasks of
the other one are on."""
import getpass
import glob
import os
import shutil
import signal
import socket
import stat
import subprocess
import time

PROGRAMS = ('munged', 'slurmctld', 'slurmd', 'sbatch', 'squeue', 'scancel', 'scontrol')
PATH = os.pathsep.join([os.environ.get('PATH', ''), '/usr/sbin', '/sbin'])
PATIENCE_S = 120

CONF = """\
ClusterName=vrtd
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock,cred_expire=5
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_min_interval=2000,bf_interval=1
MpiDefault=none
SwitchType=switch/none
ReturnToService=2
SlurmdTimeout=5
SlurmctldTimeout=30
SlurmdParameters=config_overrides
KillWait=15
MinJobAge=2
MessageTimeout=5
InactiveLimit=0
JobRequeue=1
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
GresTypes=gpu
{tokens}TaskProlog={folder}/prolog
{nodes}
PartitionName=film Nodes=node[1-{n}] Default=YES MaxTime=INFINITE State=UP PriorityTier=1
PartitionName=urgent Nodes=node[1-{n}] MaxTime=INFINITE State=UP PriorityTier=2 PreemptMode=OFF
"""

CARDS = 2


def missing():
    """Why there can be no Slurm here; None: there can."""
    for program in PROGRAMS:
        if not shutil.which(program, path=PATH):
            return f'{program} is not installed (Debian: munge, slurmctld, slurmd, slurm-client)'
    return None


def has_tokens():
    """Whether slurmctld knows tokens here (Debian: slurm-wlm-jwt-plugin)."""
    return any(glob.glob(f'/usr/{place}/slurm*/auth_jwt.so') for place in ('lib*', 'lib/*'))


def free_ports(n):
    sockets = [socket.socket() for _ in range(n)]
    for s in sockets:
        s.bind(('127.0.0.1', 0))
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


class Slurm:
    """Nodes node1 to nodeN, ended by stop()."""

    def __init__(self, folder, n=4):
        self.folder, self.n = folder, n
        for name in ('', 'state', 'spool', 'dev'):
            os.makedirs(os.path.join(folder, name), mode=0o755, exist_ok=True)
        # Jobs of other users have their scripts in it.
        os.chmod(folder, 0o755)
        self.has_cards = self.make_cards()
        host = socket.gethostname().split('.')[0]
        ports = free_ports(n + 2)
        self.rest_port = ports[n + 1]
        self.has_tokens = has_tokens()
        if self.has_tokens:
            with open(self.path('jwt.key'), 'wb') as f:
                os.fchmod(f.fileno(), 0o600)
                f.write(os.urandom(32))
        nodes = '\n'.join(f'NodeName=node{i + 1} NodeHostname={host} NodeAddr=127.0.0.1 '
                          f'Port={ports[i + 1]} CPUs=2 RealMemory=1000 State=UNKNOWN'
                          + self.has_cards * f' Gres=gpu:{CARDS}' for i in range(n))
        tokens = (f'AuthAltTypes=auth/jwt\nAuthAltParameters=jwt_key={folder}/jwt.key\n'
                  if self.has_tokens else '')
        with open(self.path('slurm.conf'), 'w', encoding='utf-8') as f:
            f.write(CONF.format(host=host, port=ports[0], user=getpass.getuser(), folder=folder,
                                nodes=nodes, n=n, tokens=tokens))
        # What it prints as "export NAME=value" is in the environment of what runs on a node.
        self.set_prolog('')
        self.env = dict(os.environ, PATH=PATH, SLURM_CONF=self.path('slurm.conf'))
        self.processes = {}
        try:
            self.start_munge()
            self.start_controller()
            for i in range(n):
                self.start_node(i + 1)
            self.wait(lambda: self.say('sinfo', '-h', '-o', '%T %D') == f'idle {n}')
        except BaseException:
            self.stop()
            raise

    def make_cards(self):
        """Device files, which Slurm counts. Whether that may be."""
        lines = [f'NodeName=node{i + 1} Name=gpu File={self.path("dev")}/{i + 1}gpu'
                 f'[0-{CARDS - 1}]\n' for i in range(self.n)]
        try:
            for i in range(self.n):
                for k in range(CARDS):
                    os.mknod(self.path('dev', f'{i + 1}gpu{k}'), stat.S_IFCHR | 0o600,
                             os.makedev(1, 3))
        except PermissionError:
            return False
        with open(self.path('gres.conf'), 'w', encoding='utf-8') as f:
            f.writelines(lines)
        return True

    def set_prolog(self, text):
        with open(self.path('prolog.new'), 'w', encoding='utf-8') as f:
            f.write('#!/bin/sh\n' + text)
            os.fchmod(f.fileno(), 0o755)
        os.rename(self.path('prolog.new'), self.path('prolog'))

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def start(self, name, *command):
        log = open(self.path(name + '.out'), 'ab')
        self.processes[name] = subprocess.Popen(command, env=self.env, stdin=subprocess.DEVNULL,
                                                stdout=log, stderr=log, start_new_session=True)
        log.close()

    def start_munge(self):
        with open(self.path('munge.key'), 'wb') as f:
            os.fchmod(f.fileno(), 0o600)
            f.write(os.urandom(128))
        self.start('munged', 'munged', '--foreground', '--force', '--socket',
                   self.path('munge.sock'), '--key-file', self.path('munge.key'), '--pid-file',
                   self.path('munged.pid'), '--log-file', self.path('munged.log'), '--seed-file',
                   self.path('munge.seed'))
        self.wait(lambda: os.path.exists(self.path('munge.sock')))

    def start_controller(self):
        self.start('slurmctld', 'slurmctld', '-D')
        self.wait(lambda: self.say('scontrol', 'ping').endswith('is UP'))

    def start_node(self, i):
        self.start(f'node{i}', 'slurmd', '-D', '-N', f'node{i}')

    def start_rest(self):
        """A slurmrestd that believes its socket's peers, as who runs the test; its address."""
        sock = self.path('rest.sock')
        self.env['SLURMRESTD_SECURITY'] = 'disable_user_check'
        self.start('slurmrestd', 'slurmrestd', '-s', 'openapi/v0.0.38', '-a', 'rest_auth/local',
                   f'unix:{sock}')
        self.wait(lambda: os.path.exists(sock))
        return f'unix:{sock}'

    def start_rest_for_tokens(self):
        """One on a port that believes tokens; its address."""
        def listens():
            with socket.socket() as s:
                return s.connect_ex(('127.0.0.1', self.rest_port)) == 0
        self.env['SLURM_JWT'] = 'daemon'
        self.start('slurmrestd-jwt', 'slurmrestd', '-s', 'openapi/v0.0.38', '-a', 'rest_auth/jwt',
                   f'127.0.0.1:{self.rest_port}')
        del self.env['SLURM_JWT']
        self.wait(listens)
        return f'http://127.0.0.1:{self.rest_port}'

    def say(self, *command):
        plain = {k: v for k, v in self.env.items() if not k.startswith(('SQUEUE_', 'SCANCEL_'))}
        done = subprocess.run(command, env=plain, capture_output=True, text=True, check=False,
                              timeout=PATIENCE_S)
        return done.stdout.strip() if done.returncode == 0 else ''

    def wait(self, happens):
        deadline = time.monotonic() + PATIENCE_S
        while not happens():
            if time.monotonic() > deadline:
                raise AssertionError('it takes too long:\n' + self.logs())
            time.sleep(0.05)

    def logs(self):
        text = ''
        for name in sorted(os.listdir(self.folder)):
            if name.endswith(('.log', '.out')):
                with open(self.path(name), encoding='utf-8', errors='replace') as f:
                    text += f'--- {name}\n' + f.read()[-3000:]
        return text

    def descendants(self, pid):
        """Of a process, the process itself last."""
        found = []
        try:
            for thread in os.listdir(f'/proc/{pid}/task'):
                with open(f'/proc/{pid}/task/{thread}/children', encoding='ascii') as f:
                    for child in map(int, f.read().split()):
                        found += self.descendants(child)
        except OSError:
            pass
        return found + [pid]

    def steps(self, node):
        """slurmstepd and what runs below, of a node: daemons of their own, found by their
        environment and command line."""
        found = []
        for pid in filter(str.isdigit, os.listdir('/proc')):
            try:
                with open(f'/proc/{pid}/environ', 'rb') as f:
                    environ = f.read().split(b'\0')
            except OSError:
                continue
            if (b'SLURMD_NODENAME=' + node.encode() in environ and
                    b'SLURM_CONF=' + self.env['SLURM_CONF'].encode() in environ):
                found.append(int(pid))
        return found

    def kill_node(self, i):
        """As a loss of power does: nothing of the node goes on, or says so."""
        name = f'node{i}'
        self.processes[name].kill()
        self.processes.pop(name).wait()
        for pid in self.steps(name):
            try:
                with open(f'/proc/{pid}/stat', encoding='ascii') as f:
                    parent = int(f.read().rsplit(')', 1)[1].split()[1])
                with open(f'/proc/{parent}/comm', encoding='ascii') as f:
                    if f.read().startswith('slurmstepd'):
                        os.kill(parent, signal.SIGKILL)
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass

    def kill_controller(self):
        self.processes['slurmctld'].kill()
        self.processes.pop('slurmctld').wait()

    def stop(self):
        if 'slurmctld' in self.processes:
            self.say('scancel', '--me')
        for name in sorted(self.processes, reverse=True):
            process = self.processes[name]
            pids = self.steps(name) + [process.pid]
            for pid in pids:
                try:
                    os.kill(pid, signal.SIGTERM)
                except OSError:
                    pass
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.processes = {}
