#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""vrtctl submit --cluster, on a Slurm of four nodes that are this machine: whatever happens to
nodes, jobs and Slurm itself, the film is that of one vrtd, to the last byte.

VRTD_LONG=1 has what takes Slurm long to notice: nodes that die or are full, time limits.
"""
import contextlib
import json
import os
import pwd
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
import unittest

import harness
from film import small_disk
from harness import clip, digest
from slurm import CARDS, PATH, Slurm, missing

LONG = '--long' in sys.argv or os.environ.get('VRTD_LONG', '') not in ('', '0')

# Each shard is a segment. While there is a file `hang`, devices wait.
CONFIG = """\
[jobs]
segment_frames = 8
precision = f32
[daemon]
stop_timeout = 2
[devices]
fault = cpu submit:1- hang={0}/hang; cpu submit:1- delay={1}
"""


class Cluster(harness.Case):
    few_jobs = True
    config = {'jobs': {'segment_frames': 8, 'precision': 'f32'}}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        # Of its own, since sockets' paths may not be long.
        folder = tempfile.mkdtemp(prefix='vrtd-slurm-')
        cls.addClassCleanup(shutil.rmtree, folder, True)
        cls.slurm = Slurm(folder)
        cls.addClassCleanup(cls.slurm.stop)
        cls.source = clip(os.path.join(cls.folder, 'in.mp4'), frames=60, audio=True)
        cls.wanted = {}

    def setUp(self):
        os.makedirs(self.path('conf/vrtd'), exist_ok=True)
        self.configure()
        self.slurm.env['XDG_CONFIG_HOME'] = self.path('conf')
        self.slurm.env['XDG_STATE_HOME'] = self.path('state-home')
        # What a user may have set for himself, and would hide jobs, or make other ones of them.
        self.slurm.env.update(SQUEUE_STATES='SUSPENDED', SQUEUE_FORMAT='%j',
                              SCANCEL_STATE='RUNNING', SBATCH_ARRAY_INX='0-2',
                              SBATCH_WAIT='1', SBATCH_EXPORT='NONE')

    def configure(self, delay='1ms'):
        with open(self.path('conf/vrtd/vrtd.conf'), 'w', encoding='utf-8') as f:
            f.write(CONFIG.format(self.folder, delay))

    def ctl(self, *arguments, status=0, **options):
        """vrtctl, on a machine of the cluster: what it printed."""
        options.setdefault('env', self.slurm.env)
        done = subprocess.run([harness.VRTCTL, *map(str, arguments)], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=harness.PATIENCE_S,
                              check=False, **options)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr + self.slurm.logs())
        return done.stdout + done.stderr

    def submit(self, name, *options, source=None):
        target = self.path(name)
        self.ctl('submit', '--cluster', '--device', 'cpu', '-o', target, *options,
                 source or self.source)
        return target

    def look(self, target):
        return json.loads(self.ctl('cluster', 'show', '--json', target))

    def expect_restored(self, target, source=None):
        """To its end, and to the bytes of one vrtd. What was said meanwhile."""
        source = source or self.source
        said = self.ctl('cluster', 'follow', target)
        if source not in self.wanted:
            wanted = self.path('wanted-' + os.path.basename(source))
            self.follow(source, wanted, '--device', 'cpu')
            self.wanted[source] = digest(wanted)
        self.assertEqual(digest(target), self.wanted[source])
        self.assertFalse(os.path.exists(target + '.vrtd'))
        return said

    def hang(self):
        """From now on no device goes on; the function that ends it."""
        path = self.path('hang')
        with open(path, 'w', encoding='utf-8'):
            pass

        def end():
            if os.path.exists(path):
                os.unlink(path)
        self.addCleanup(end)
        return end

    def await_made(self, target, n=1):
        """Until so many segments are made."""
        folder = target + '.vrtd/segments'
        self.wait_until(lambda: os.path.isdir(folder) and len(os.listdir(folder)) >= n)

    def wait_until(self, happens):
        """What Slurm is asked for is asked less often."""
        def asks():
            time.sleep(0.3)
            return happens()
        super().wait_until(asks)

    def test_film(self):
        """On four nodes; nobody else may look into it meanwhile. No name needs quoting by hand."""
        target = self.submit('four %x\'s "$HOME" `x`.mp4', '--nodes', 4)
        folder = target + '.vrtd'
        self.assertIn('is there already', self.ctl('submit', '--cluster', '-d', 'cpu', '-o',
                                                   target, self.source, status=1))
        self.assertIn('`x`.mp4: ', self.ctl('cluster'))
        self.assertIn(target, self.ctl('list', '--socket', self.daemon.socket))
        self.await_made(target)
        for place, folders, files in os.walk(folder):
            for name in folders + files:
                try:
                    mode = os.lstat(os.path.join(place, name)).st_mode
                except FileNotFoundError:
                    continue
                # Slurm makes its logs by the user's umask: what is above lets nobody in.
                if '/logs' not in place:
                    self.assertEqual(stat.S_IMODE(mode) & 0o077, 0, os.path.join(place, name))
        self.assertEqual(stat.S_IMODE(os.stat(folder).st_mode), 0o700)
        self.assertIn('done, 100%', self.expect_restored(target))

    def test_cancelled(self):
        """By its user it is over until he retries; by others it goes on."""
        end = self.hang()
        target = self.submit('cancelled.mp4', '--nodes', 2)
        self.wait_until(lambda: self.look(target)['tasks_running'] > 0)
        with subprocess.Popen([harness.VRTCTL, 'cluster', 'follow', target], env=self.slurm.env,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True) as follower:
            self.assertIn('tasks', follower.stdout.readline())
            self.assertEqual(self.ctl('cancel', target), 'cancelled.mp4 was cancelled\n')
            said = follower.communicate(timeout=harness.PATIENCE_S)[0]
        self.assertIn('was cancelled', said)
        self.assertNotIn('submitted again', said)
        self.wait_until(lambda: self.look(target)['state'] == 'cancelled')
        self.assertIn('was cancelled', self.ctl('cluster', 'follow', target, status=1))
        end()
        self.assertIn('cancelled.mp4 is tried again', self.ctl('cluster', 'retry', target))
        self.assertIn('nothing to try again', self.ctl('cluster', 'retry', target, status=1))
        # Of several who follow it, one submits it again.
        with subprocess.Popen([harness.VRTCTL, 'cluster', 'follow', target], env=self.slurm.env,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True) as other:
            self.assertIn('tasks', other.stdout.readline())
            self.slurm.say('scancel', '--me')
            said = self.expect_restored(target)
            said += other.communicate(timeout=harness.PATIENCE_S)[0]
        self.assertEqual((said.count('submitted again'), said.count(': done')), (1, 2), said)
        self.assertNotIn('done, -', said)

    def test_rest(self):
        """By a slurmrestd, on its socket, and with a token on its port."""
        if not shutil.which('slurmrestd', path=PATH):
            self.skipTest('slurmrestd is not installed')
        url = self.slurm.start_rest()
        end = self.hang()
        target = self.submit('rest "$HOME" %a.mp4', '--nodes', 3, '--slurm-url', url, '--time',
                             '1:30:00')
        self.wait_until(lambda: self.look(target)['tasks_running'] > 0)
        self.assertIn('rest "$HOME" %a.mp4: planning', self.ctl('cluster', '--slurm-url', url))
        self.assertIn('is paused', self.ctl('cluster', 'hold', target))
        self.assertEqual(self.slurm.say('squeue', '-h', '-n', 'vrtd-plan', '-o', '%l'), '1:30:00')
        self.assertEqual(self.slurm.say('squeue', '-h', '-n', 'vrtd-part', '-o', '%r %K'),
                         'JobHeldAdmin 0-2' if os.geteuid() == 0 else 'JobHeldUser 0-2')
        self.assertEqual(self.look(target)['tasks_waiting'], 5)
        end()
        self.wait_until(lambda: self.look(target)['state'] == 'held')
        released = json.loads(self.ctl('cluster', 'release', '--json', target))
        self.assertEqual((released['kind'], released['output']), ('film', target))
        self.assertIn('done, 100%', self.expect_restored(target))

        end = self.hang()
        target = self.submit('rest-cancelled.mp4', '--nodes', 2, '--slurm-url', url)
        self.ctl('cluster', 'cancel', target)
        self.wait_until(lambda: self.look(target)['state'] == 'cancelled')
        self.assertEqual(self.slurm.say('squeue', '-h'), '')
        self.assertIn('rest-cancelled.mp4 was removed', self.ctl('cluster', 'remove', target))
        for says, where, *options in (
                ('nvalid partition', url, '--partition', 'none'),
                ('--time: expected', url, '--time', '1:2:3:4'),
                ("doesn't answer", 'unix:/nowhere.sock'),
                ('unix:/PATH', 'rest.sock')):
            said = self.ctl('submit', '--cluster', '-d', 'cpu', '-o', target, *options,
                            '--slurm-url', where, self.source, status=1)
            self.assertIn(says, said)
            self.assertFalse(os.path.exists(target + '.vrtd'), says)
        if self.slurm.has_tokens:
            self.by_token(self.slurm.start_rest_for_tokens(), end)

    def by_token(self, address, end):
        self.addCleanup(self.slurm.env.pop, 'SLURM_JWT', None)
        self.assertIn('scontrol token', self.ctl('cluster', '--slurm-url', address, status=1))
        self.slurm.env['SLURM_JWT'] = 'no.such.token'
        self.assertIn('slurmrestd', self.ctl('cluster', '--slurm-url', address, status=1))
        del self.slurm.env['SLURM_JWT']
        token = self.slurm.say('scontrol', 'token', 'lifespan=600').partition('=')[2]
        self.slurm.env['SLURM_JWT'] = token
        target = self.submit('token.mp4', '--slurm-url', address)
        self.assertEqual(len(self.slurm.say('squeue', '-h').splitlines()), 4)
        del self.slurm.env['SLURM_JWT']
        self.wait_until(self.task_pids)
        for pid in self.task_pids():
            with open(f'/proc/{pid}/environ', encoding='utf-8', errors='replace') as f:
                self.assertNotIn(token, f.read())
        self.slurm.env['SLURM_JWT'] = token
        end()
        self.expect_restored(target)

    def test_failed(self):
        """One sentence, from the node to who submitted it."""
        source = self.path('no-video.mp4')
        with open(source, 'w', encoding='utf-8') as f:
            f.write('this is no video')
        target = self.submit('failed.mp4', source=source)
        self.assertIn('no-video.mp4', self.ctl('cluster', 'follow', target, status=1))
        self.assertEqual(self.look(target)['state'], 'failed')
        if os.geteuid() == 0:
            os.chown(target + '.vrtd', 65534, -1)
            self.assertIn("another user's", self.ctl('cluster', 'remove', target, status=1))
            os.chown(target + '.vrtd', 0, -1)
        self.ctl('cluster', 'remove', target)
        self.assertFalse(os.path.exists(target + '.vrtd'))
        self.assertFalse(os.path.exists(target))

    def test_process_killed(self):
        """Of a plan: what waits for that waits on, and it is begun again."""
        end = self.hang()
        target = self.submit('process.mp4')
        tasks = []
        self.wait_until(lambda: tasks.extend(self.task_pids()) or tasks)
        for pid in tasks:
            os.kill(pid, signal.SIGKILL)
        end()
        self.assertNotIn('submitted again', self.expect_restored(target))

    def task_pids(self):
        """Of vrtd, on whichever node."""
        found = []
        for i in range(self.slurm.n):
            for pid in self.slurm.steps(f'node{i + 1}'):
                with contextlib.suppress(OSError):
                    with open(f'/proc/{pid}/comm', encoding='ascii') as f:
                        if f.read().strip() == 'vrtd':
                            found.append(pid)
        return found

    def environ_of(self, pid):
        with contextlib.suppress(OSError), open(f'/proc/{pid}/environ', encoding='utf-8',
                                                errors='replace') as f:
            return dict(line.split('=', 1) for line in f.read().split('\0') if '=' in line)
        return {}

    @unittest.skipUnless(LONG, 'Slurm takes its time')
    def test_cards(self):
        """Each task has as many as it asked for, and nobody else has them; joining has none."""
        if not self.slurm.has_cards:
            self.skipTest('nobody may make device files here')
        end = self.hang()
        target = self.submit('cards.mp4', '--nodes', 4, '--gpus', CARDS)
        asked = self.slurm.say('squeue', '-h', '-O', 'Name:20,tres-per-node:40').splitlines()
        self.assertEqual([line.split()[0] for line in asked if 'gpu' not in line], ['vrtd-join'])
        self.configure('300ms')
        end()
        seen = set()

        def tasks():
            for pid in self.task_pids():
                environ = self.environ_of(pid)
                seen.add((environ.get('SLURM_ARRAY_TASK_ID'), environ.get('SLURMD_NODENAME'),
                          environ.get('CUDA_VISIBLE_DEVICES')))
            return len({task for task, _, _ in seen if task}) == 4
        self.wait_until(tasks)
        cards = {cards for task, _, cards in seen if task}
        self.assertEqual(cards, {','.join(map(str, range(CARDS)))})
        self.assertGreater(len({node for task, node, _ in seen if task}), 1)
        self.expect_restored(target)
        said = self.ctl('submit', '--cluster', '-d', 'cpu', '--gpus', CARDS + 1, '-o', target,
                        '--overwrite', self.source, status=1)
        self.assertIn('sbatch', said)

    @unittest.skipUnless(LONG, 'Slurm takes its time')
    def test_preempted(self):
        """A job of more weight takes the nodes: tasks end in time, and begin again behind what
        they have made."""
        self.configure('100ms')
        target = self.submit('preempted.mp4', '--nodes', 2)
        self.await_made(target, 2)
        done = subprocess.run(['sbatch', '-p', 'urgent', '-N', str(self.slurm.n), '--exclusive',
                               '-J', 'urgent', '-o', '/dev/null', '--wrap', 'sleep 5'],
                              env={k: v for k, v in self.slurm.env.items() if 'SBATCH' not in k},
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.wait_until(lambda: self.slurm.say('squeue', '-h', '-n', 'urgent', '-t', 'R'))
        self.assertEqual(self.task_pids(), [])
        states = {self.note(target, task).get('state') for task in ('0', '1')}
        self.assertIn('interrupted', states)
        self.assertLessEqual(states, {'interrupted', 'done'})
        self.assertNotIn('submitted again', self.expect_restored(target))

    def note(self, target, task):
        with contextlib.suppress(FileNotFoundError):
            with open(f'{target}.vrtd/tasks/{task}.json', encoding='utf-8') as f:
                return json.load(f)
        return {}

    @unittest.skipUnless(LONG, 'Slurm takes its time')
    @unittest.skipUnless(os.geteuid() == 0, 'only root is another user')
    def test_another_user(self):
        """Tasks run as who submitted them, and nobody else may read what is his meanwhile."""
        user, other = pwd.getpwnam('nobody'), pwd.getpwnam('daemon')

        def as_user(who):
            return {'user': who.pw_uid, 'group': who.pw_gid, 'extra_groups': [], 'umask': 0o022}

        home = tempfile.mkdtemp(prefix='vrtd-home-')
        self.addCleanup(shutil.rmtree, home)
        os.chmod(home, 0o755)
        source, target = os.path.join(home, 'in.mp4'), os.path.join(home, 'out.mp4')
        shutil.copy(self.source, source)
        os.mkdir(os.path.join(home, 'vrtd'))
        with open(os.path.join(home, 'vrtd/vrtd.conf'), 'w', encoding='utf-8') as f:
            f.write(CONFIG.format(home, '100ms'))
        for place, folders, files in os.walk(home):
            for name in ['.', *folders, *files]:
                os.chown(os.path.join(place, name), user.pw_uid, user.pw_gid)
        may = subprocess.run([harness.VRTD, '--version'], **as_user(user), capture_output=True,
                             check=False)
        if may.returncode != 0:
            self.skipTest('others may not run what is built here')
        mine = {**as_user(user), 'cwd': home,
                'env': dict(self.slurm.env, HOME=home, XDG_CONFIG_HOME=home,
                            XDG_STATE_HOME=os.path.join(home, 'state'))}
        self.ctl('submit', '--cluster', '-d', 'cpu', '--nodes', 2, '-o', target, source, **mine)
        self.await_made(target)
        uids = {os.stat(f'/proc/{pid}').st_uid for pid in self.task_pids()}
        self.assertLessEqual(uids, {user.pw_uid})
        folder = target + '.vrtd'
        self.assertEqual(stat.S_IMODE(os.stat(folder).st_mode), 0o700)
        for place, folders, files in os.walk(folder):
            for name in folders + files:
                with contextlib.suppress(FileNotFoundError):
                    is_his = os.lstat(os.path.join(place, name)).st_uid == user.pw_uid
                    self.assertTrue(is_his, os.path.join(place, name))
        for command in (['ls', folder], ['cat', folder + '/request.json'],
                        ['cat', folder + '/logs/vrtd-plan.log']):
            done = subprocess.run(command, **as_user(other), capture_output=True, text=True,
                                  check=False)
            self.assertRegex(done.stderr, 'Permission denied')
        self.assertIn("another user's", self.ctl('cluster', 'cancel', target, status=1))
        self.assertIn('out.mp4', self.ctl('list', '--socket', '/nowhere', status=3, **mine))
        said = self.ctl('cluster', 'follow', target, **mine)
        self.assertIn('done, 100%', said)
        self.assertEqual(os.stat(target).st_uid, user.pw_uid)
        wanted = self.path('wanted-other.mp4')
        self.follow(self.source, wanted, '--device', 'cpu')
        self.assertEqual(digest(target), digest(wanted))

    @unittest.skipUnless(LONG, 'Slurm takes its time')
    def test_disk_of_a_node(self):
        """A node without room for a task's state is left out, by whoever follows the film."""
        full = small_disk(self, self.path('full'), '64k')
        self.slurm.set_prolog(f'[ $SLURMD_NODENAME != node1 ] || echo export TMPDIR={full}\n')
        self.addCleanup(self.slurm.set_prolog, '')
        said = self.expect_restored(self.submit('disk.mp4'))
        self.assertIn('without node1', said)

    def test_refused(self):
        target, source = self.path('refused.mp4'), self.source
        for says, status, *options in (
                ('Invalid partition', 1, '--cluster', '--partition', 'none'),
                ('say --cluster too', 2, '--nodes', 2),
                ('--nodes', 2, '--cluster', '--nodes', 0),
                ('this machine', 2, '--cluster', '--dry-run'),
                ('no daemon takes part', 2, '--cluster', '--priority', 5),
                ('--target-size', 2, '--cluster', '--target-size', '1M'),
                ('--alpha network', 2, '--cluster', '--alpha', 'network'),
                ('expected from 1', 1, '--cluster', '--account', '')):
            said = self.ctl('submit', *options, '-d', 'cpu', '-o', target, source, status=status)
            self.assertIn(says, said)
            self.assertFalse(os.path.exists(target + '.vrtd'), options)
            self.assertFalse(os.path.exists(target), options)
        self.assertIn('backslash', self.ctl('submit', '--cluster', '-o', self.path('a\\b.mp4'),
                                            source, status=1))
        self.assertIn('no URL', self.ctl('submit', '--cluster', '-o', target, 'http://x/y.mp4',
                                         status=1))
        self.assertIn('no cluster restores', self.ctl('cluster', 'show', target, status=1))
        self.assertIn('which film', self.ctl('cluster', 'show', status=2))
        self.assertIn('expected list', self.ctl('cluster', 'what', target, status=2))

    @unittest.skipUnless(LONG, 'Slurm takes its time')
    def test_node_killed(self):
        """In mid-task: Slurm begins the task anew elsewhere, and it goes on behind its segments."""
        self.configure('40ms')
        target = self.submit('killed.mp4', '--nodes', 2)
        self.await_made(target)
        end = self.hang()
        nodes = self.slurm.say('squeue', '-h', '-t', 'R', '-o', '%N').split()
        self.assertTrue(nodes)
        self.slurm.kill_node(int(nodes[0][len('node'):]))
        end()
        self.expect_restored(target)
        self.slurm.start_node(int(nodes[0][len('node'):]))
        self.wait_until(lambda: self.slurm.say('sinfo', '-h', '-o', '%T') == 'idle')

    @unittest.skipUnless(LONG, 'Slurm takes its time')
    def test_controller_killed(self):
        """Begun anew, it knows its jobs, or has lost all of them, whatever it had acknowledged."""
        for loses in (False, True):
            end = self.hang()
            target = self.submit(f'controller-{loses}.mp4', '--nodes', 2)
            self.slurm.kill_controller()
            if loses:
                shutil.rmtree(self.slurm.path('state'))
                os.mkdir(self.slurm.path('state'))
            self.slurm.start_controller()
            end()
            said = self.expect_restored(target)
            # Of what it has acknowledged a moment ago it may forget a part, too.
            if loses:
                self.assertIn('submitted again', said)

    @unittest.skipUnless(LONG, 'Slurm takes its time')
    def test_time_limit(self):
        """A task ends before its time, with what it has, and goes on as another."""
        self.configure('1s')
        target = self.submit('limit.mp4', '--time', 2)
        self.await_made(target)
        self.wait_until(lambda: 'goes on behind' in self.look(target)['error'] or
                        self.look(target)['segments_done'] >= 8)
        self.assertLess(self.look(target)['segments_done'], 8)
        self.configure()
        self.expect_restored(target)


if __name__ == '__main__':
    why = missing()
    if why:
        print('skipped:', why)
        sys.exit(77)
    sys.argv = [a for a in sys.argv if a != '--long']
    harness.main()
