#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""vrtctl submit --cluster, cluster and list, with commands of Slurm's that are the test's own.

usage: test_vrtctl_cluster.py VRTCTL [unittest arguments]
"""
import getpass
import json
import os
import shutil
import subprocess
import time
import unittest

from fake_vrtd import FakeVrtd, answer
from vrtctl_case import PATIENCE_S, Case

# It notes how it is called, and by what environment. NAME.fails is what it says then.
SLURM = '''#!/bin/sh
name=${0##*/}
env | grep -E '^(SQUEUE|SCANCEL|SBATCH)_' >"$FAKE/environment"
{ printf '%s' $name; for a; do printf '|%s' "$a"; done; echo; } >>"${FAKE:?}/asked"
if [ -e "$FAKE/$name.fails" ]; then cat "$FAKE/$name.fails" >&2; exit 1; fi
case $name in
sbatch)
    n=$(($(cat "$FAKE/next") + 1)); echo $n >"$FAKE/next"; cat >"$FAKE/script.$n"
    if [ -e "$FAKE/rival" ]; then sed -i 's/"submitter":"/&x/' "$(cat "$FAKE/rival")"; fi
    echo "$n;film";;
squeue)
    case "$*" in *'--array --format=%A|%F|%T|%r|%k|%Z') cat "$FAKE/queue";; esac;;
esac
'''


class Cluster(Case):
    def setUp(self):
        super().setUp()
        os.mkdir(self.path('bin'))
        for name in ('sbatch', 'squeue', 'scancel', 'scontrol'):
            self.write('bin/' + name, SLURM)
            os.chmod(self.path('bin', name), 0o755)
        self.write('next', '10')
        self.queue()
        self.environment = dict(os.environ, FAKE=self.folder, VRTD_SLURM_URL='',
                                PATH=self.path('bin') + ':' + os.environ['PATH'])

    def ctl(self, *arguments, **options):
        return self.run_it(*arguments, **dict({'env': self.environment}, **options))

    def asked(self):
        """What Slurm's commands were asked since, each a list."""
        if not os.path.exists(self.path('asked')):
            return []
        lines = self.text_of('asked').splitlines()
        os.remove(self.path('asked'))
        return [line.split('|') for line in lines if not line.startswith('squeue')]

    def submit(self, *options, **more):
        return self.ctl('submit', '--cluster', '-o', 'out.mp4', *options, 'video.mp4', **more)

    def record(self, **changes):
        found = dict(json.loads(self.text_of('out.mp4.vrtd/slurm.json')), **changes)
        self.write('out.mp4.vrtd/slurm.json', found)
        return found

    def queue(self, *jobs, tag=None):
        """Slurm's answer: number, batch, state and reason of each of the film's jobs."""
        tag = tag or (self.record()['tag'] if os.path.exists(self.path('out.mp4.vrtd')) else '')
        self.write('queue', ''.join(
            f'{i}|{batch}|{state}|{reason}|{tag}|{self.path("out.mp4.vrtd")}\n'
            for i, batch, state, reason in jobs))

    def note(self, task, **note):
        self.write(f'out.mp4.vrtd/tasks/{task}.json', note)

    def plan(self, *made):
        """Three segments, of which some are made."""
        self.write('out.mp4.vrtd/plan.json', {'segments': [{'n_frames': n} for n in (8, 8, 4)]})
        for i in made:
            self.write(f'out.mp4.vrtd/segments/{i:05}.seg', '')


class Submit(Cluster):
    def test_jobs(self):
        """Four, that wait for each other; the last one needs neither cards nor a whole node."""
        self.environment.update(SQUEUE_STATES='x', SBATCH_WAIT='1', SCANCEL_STATE='x',
                                SBATCH_ACCOUNT='kept')
        out, _ = self.submit('-d', 'cuda:0', '--nodes', 3, '--partition', 'p', '--account', 'a',
                             '--time', '1:00')
        self.assertEqual(out, "out.mp4: submitted as Slurm's jobs 11 (plan), 12 (3 parts), 13 "
                              '(what these leave) and 14 (join); vrtctl cluster follow '
                              f'{self.path("out.mp4")} shows how it gets on\n')
        folder, record = self.path('out.mp4.vrtd'), self.record()
        always = ['sbatch', '--parsable', '--requeue', '--open-mode=append', '--nodes=1',
                  '--ntasks=1']
        wants = ['--partition=p', '--account=a', '--time=1:00', '--gpus-per-node=1']
        after = '--kill-on-invalid-dep=yes'
        self.assertEqual(self.asked(), [
            always + [f'--job-name=vrtd-{name}', '--comment=' + record['tag'], '--chdir=' + folder,
                      f'--output={folder}/logs/{log}.log'] + more for name, log, more in (
                          ('plan', '%x', wants),
                          ('part', '%x-%a', wants + ['--array=0-2', '--dependency=afterok:11',
                                                     after]),
                          ('rest', '%x', wants + ['--dependency=afternotok:12', after]),
                          ('join', '%x', wants[:3] + ['--dependency=afterany:13', after]))])
        self.assertEqual(self.text_of('environment'), 'SBATCH_ACCOUNT=kept\n')
        for n, parts in enumerate(('plan', '"$SLURM_ARRAY_TASK_ID/3"', '0/1', 'join')):
            self.assertEqual(self.text_of(f'script.{n + 11}'),
                             f"#!/bin/sh\nexec sh '{folder}'/task.sh {parts}\n")
        self.assertEqual([record[key] for key in ('plan', 'array', 'rest', 'join', 'submissions',
                                                  'nodes', 'gpus', 'is_cancelled')],
                         [11, 12, 13, 14, 1, 3, 1, False])
        request = json.loads(self.text_of('out.mp4.vrtd/request.json'))
        self.assertEqual(request['input'], {'fd': None, 'name': 'video.mp4', 'url': None,
                                            'path': self.path('video.mp4'), 'upload': None})
        self.assertIn(f"\nfolder='{folder}'\n", self.text_of('out.mp4.vrtd/task.sh'))
        self.assertEqual([oct(os.stat(self.path('out.mp4.vrtd', name)).st_mode)[-3:] for name in (
            '', 'slurm.json', 'request.json', '../state-home/vrtd', '../state-home/vrtd/films')],
            ['700', '600', '600', '700', '700'])
        self.assertIn('is there already', self.submit('--overwrite', status=1)[1])

    def test_cards(self):
        for options, card in (([], '--exclusive'), (['-d', 'cpu:1'], '--exclusive'),
                              (['-d', 'auto'], '--exclusive'), (['-d', 'xpu'], '--gpus-per-node=1'),
                              (['-d', 'cuda', '--gpus', 2], '--gpus-per-node=2'),
                              (['-d', 'cuda', '--gpus', 0], '--exclusive')):
            with self.subTest(options=options):
                out, _ = self.submit('--json', *options)
                self.assertEqual([json.loads(out)[key] for key in ('state', 'nodes', 'kind')],
                                 ['waiting', 1, 'film'])
                asked = self.asked()
                wants = ('--excl', '--gpus', '--partition', '--account', '--time')
                self.assertEqual([sum(a.startswith(wants) for a in job) for job in asked],
                                 [1, 1, 1, 0])
                self.assertIn(card, asked[0])
                self.assertIn('--array=0-0', asked[1])
                self.ctl('cluster', 'remove', 'out.mp4')
                self.assertFalse(os.path.exists(self.path('out.mp4')))
                self.assertEqual(os.listdir(self.path('state-home/vrtd/films')), [])
                self.asked()

    def test_misused(self):
        for options, says in (
                (['--nodes', 2], 'are for Slurm: say --cluster too'),
                (['--gpus', 2], 'say --cluster'), (['--partition', 'p'], 'say --cluster'),
                (['--account', 'p'], 'say --cluster'), (['--time', '1'], 'say --cluster'),
                (['--slurm-url', 'unix:/x'], 'say --cluster'),
                (['--preview'], '--preview waits for the result: say --follow'),
                (['--reference', 'gt.mkv', '-r'], '--reference names what one result'),
                (['--reference', 'gt.mkv', 'b.mp4'], '--reference names what one result'),
                (['--cluster', '--dry-run'], "this machine's devices"),
                (['--cluster', '--webhook', 'http://x'], '--webhook is for jobs of a vrtd'),
                (['--cluster', '--preview', '-f'], '--preview is for jobs'),
                (['--cluster', '--priority', 1], '--priority is for jobs'),
                (['--cluster', '--target-size', '1M'], '--target-size needs one segment'),
                (['--cluster', '--alpha', 'network'], '--alpha network restores')):
            self.complaint('submit', *options, 'video.mp4', status=2, says=says)
        os.mkdir(self.path('folder'))
        self.write('folder/1.png', 'picture')
        for arguments, says in (
                (['folder', '-o', 'made'], 'folders of pictures'),
                (['video.mp4', '--codec', 'png', '-o', 'folder', '--overwrite'],
                 'folders of pictures'),
                (['https://x.org/y.mp4', '-o', 'y.mp4'], 'no URL, and no pipe'),
                (['video.mp4', '-o', os.fsdecode(b'\xff.mp4')], 'paths, in UTF-8: no URL'),
                (['video.mp4', '-o', 'a\\b.mp4'], 'a backslash'),
                (['video.mp4', '--partition', ''], '--partition: expected from 1 to 63 letters'),
                (['video.mp4', '--account', 'x' * 64], '--account: expected from 1 to 63'),
                (['video.mp4', '--time', 'x' * 32], '--time: expected from 1 to 31'),
                (['video.mp4', '--slurm-url', 'ftp://x'], "slurmrestd's address is"),
                (['video.mp4', '--slurm-url', 'http://' + 'x' * 249], 'at most 255 letters')):
            _, err = self.ctl('submit', '--cluster', *arguments, status=1)
            self.assertIn(says, err)
        self.assertEqual(sorted(name for name in os.listdir(self.folder) if '.' in name),
                         ['video.mp4'])
        self.assertEqual(self.asked(), [])

    def test_refused(self):
        """Nothing is left of it, and with Slurm neither."""
        for program, said, says in (
                ('sbatch', 'sbatch: hm\nsbatch: error: no such\x1b partition\n\n',
                 'sbatch: no such? partition\n'), ('sbatch', '', "sbatch: it doesn't say why"),
                ('squeue', 'slurm_load_jobs error: Unable\n', 'squeue: Unable')):
            self.write(program + '.fails', said)
            _, err = self.submit(status=1)
            self.assertIn(says, err)
            os.remove(self.path(program + '.fails'))
            self.assertFalse(os.path.exists(self.path('out.mp4')))
            self.assertFalse(os.path.exists(self.path('out.mp4.vrtd')))
        self.assertEqual(self.ctl('list', '--all', status=3)[0], '')
        self.write('next', '-5')
        self.assertIn('names no job', self.submit(status=1)[1])
        self.environment['PATH'] = self.path('nothing')
        self.assertIn('there is no squeue here', self.submit(status=1)[1])
        self.environment['XDG_STATE_HOME'] = self.path('video.mp4')
        self.assertIn("vrtctl list won't show it: ", self.submit(status=1)[1])
        del self.environment['XDG_STATE_HOME'], self.environment['HOME']
        self.assertIn("won't show it: the folder of the user's state", self.submit(status=1)[1])

    def test_rival(self):
        """Who has submitted the film meanwhile keeps it: ours are taken back."""
        self.write('rival', self.path('out.mp4.vrtd/slurm.json'))
        self.submit()
        self.assertEqual([job for job in self.asked() if job[0] == 'scancel'],
                         [['scancel', '--quiet', str(n)] for n in (14, 13, 12, 11)])
        self.assertEqual(self.record()['array'], 0)


class Looked(Cluster):
    def setUp(self):
        super().setUp()
        self.submit('--nodes', 2)
        self.asked()

    def show(self, word='show', **options):
        return self.ctl('cluster', word, 'out.mp4', **options)

    def test_states(self):
        run, wait = ('RUNNING', 'None'), ('PENDING', 'Priority')
        after, held = ('PENDING', 'Dependency'), ('PENDING', 'JobHeldUser')
        for queue, state, tasks in (
                ([(11, 11, *wait), (12, 12, *after)], 'waiting', '0 running, 2 waiting (Priority)'),
                ([(11, 11, *run), (12, 12, *after)], 'planning', '1 running, 1 waiting'),
                ([(12, 12, *run), (15, 12, *run), (16, 12, *wait)], 'restoring',
                 '2 running, 1 waiting (Priority)'),
                ([(14, 14, *run)], 'joining', '1 running, 0 waiting'),
                ([(12, 12, *held), (15, 12, *wait)], 'held', '0 running, 2 waiting (JobHeldUser)'),
                ([(12, 12, *held), (15, 12, *run)], 'restoring',
                 '1 running, 1 waiting (JobHeldUser)')):
            self.queue(*queue)
            self.assertEqual(self.show()[0],
                             f'out.mp4: {state}, - of it done; tasks: {tasks}\n')
        self.queue((1, 1, *run), tag='vrtd:other')
        self.assertIn('lost', self.show()[0])
        self.write('queue', '1|2\n\n')
        self.assertEqual(self.show()[0], 'out.mp4: lost, - of it done\n')
        self.plan(0, 2)
        self.assertEqual(self.show()[0], 'out.mp4: lost, 60% of it done\n')
        self.note('1', error='no\x1b room', error_id='store.full')
        self.assertEqual(self.show()[0], 'out.mp4: lost, 60% of it done; no? room\n')
        self.note('plan', state='failed', error='no plan')
        self.assertEqual(self.show()[0], 'out.mp4: failed, 60% of it done; no plan\n')
        self.record(is_cancelled=True)
        self.assertIn('cancelled, 60%', self.show()[0])
        self.note('join', state='done', comparison={'psnr_rgb': 30, 'psnr_y': 31, 'ssim_rgb': 0.9,
                                                    'ssim_y': 0.95})
        self.assertEqual(self.show()[0], 'out.mp4: done, 100% of it done; PSNR 30.00 dB (Y 31.00 '
                                         'dB), SSIM 0.9000 (Y 0.9500)\n')
        self.write('squeue.fails', 'no')
        got = json.loads(self.ctl('cluster', 'show', '--json', 'out.mp4')[0])
        self.assertEqual([got[key] for key in ('state', 'frames_done', 'frames_total',
                                               'segments_done', 'error')], ['done', 20, 20, 3, ''])

    def test_verbs(self):
        jobs = [(11, 11, 'RUNNING', 'None'), (12, 12, 'RUNNING', 'None'),
                (15, 12, 'PENDING', 'Priority'), (16, 12, 'PENDING', 'Priority'),
                (13, 13, 'PENDING', 'Dependency')]
        self.queue(*jobs)
        for word, says, asked in (
                ('hold', 'is paused: tasks that run go on',
                 ['scontrol|hold|12', 'scontrol|hold|13']),
                ('release', 'goes on', ['scontrol|release|12', 'scontrol|release|13']),
                ('cancel', 'was cancelled',
                 ['scancel|--quiet|11', 'scancel|--quiet|12', 'scancel|--quiet|13'])):
            self.assertEqual(self.show(word)[0], f'out.mp4 {says}\n')
            self.assertEqual(['|'.join(a) for a in self.asked()], asked)
        self.assertTrue(self.record()['is_cancelled'])
        self.assertEqual(self.show('retry', status=1)[1],
                         'vrtctl: out.mp4: it is planning: there is nothing to try again\n')
        self.queue()
        self.record(submissions=2, excluded='node9')
        self.note('0', node='node1', error_id='device.failed', error='hot')
        self.assertEqual(self.show('retry')[0], 'out.mp4 is tried again\n')
        record = self.record()
        self.assertEqual([record[key] for key in ('submissions', 'excluded', 'is_cancelled',
                                                  'plan')], [1, 'node1', False, 15])
        self.assertFalse(os.path.exists(self.path('out.mp4.vrtd/tasks')))
        self.assertIn('--exclude=node1', self.asked()[0])
        self.assertEqual(self.ctl('cluster', 'release', 'out.mp4', 'out.mp4')[0],
                         2 * 'out.mp4 goes on\n')
        self.note('join', state='done')
        self.assertIn('nothing to try again', self.show('retry', status=1)[1])
        self.assertEqual(json.loads(self.ctl('cluster', 'hold', '-j', 'out.mp4')[0])['state'],
                         'done')
        for name in ('scontrol', 'scancel', 'squeue'):
            self.write(name + '.fails', 'x')
        os.remove(self.path('out.mp4.vrtd/tasks/join.json'))
        for word in ('show', 'retry'):
            self.assertEqual(self.show(word, status=1), ('', 'vrtctl: out.mp4: squeue: x\n'))
        os.remove(self.path('squeue.fails'))
        self.queue(*jobs)
        self.assertIn('scontrol: x', self.show('hold', status=1)[1])
        self.assertIn('scancel: x', self.show('remove', status=1)[1])
        os.remove(self.path('scancel.fails'))
        # Folders are removed as deep as there are any of ours.
        os.makedirs(self.path('out.mp4.vrtd/attempts/a/1/x/y/z'))
        self.assertIn('not empty', self.show('remove', status=1)[1])
        os.rmdir(self.path('out.mp4.vrtd/attempts/a/1/x/y/z'))
        self.assertEqual(self.ctl('cluster', 'remove', '--json', 'out.mp4.vrtd/'), ('', ''))
        self.assertFalse(os.path.exists(self.path('out.mp4.vrtd')))
        self.assertIn('no cluster restores out.mp4', self.show(status=1)[1])

    def test_misused(self):
        for arguments, says in ((['list', 'out.mp4'], 'list names no film'),
                                (['old'], 'expected list, show'),
                                (['show'], 'which film? Name its result')):
            self.complaint('cluster', *arguments, status=2, says=says)
        _, err = self.ctl('cluster', 'show', 'none.mp4', 'out.mp4', status=1)
        self.assertIn('no cluster restores none.mp4', err)
        os.mkdir(self.path('out.mp4.vrtd/lock'))
        self.assertIn('lock: Is a directory', self.show('hold', status=1)[1])
        self.write('out.mp4.vrtd/slurm.json', '{')
        self.assertIn("slurm.json can't be read: ", self.show(status=1)[1])
        if os.geteuid() == 0:
            os.chown(self.path('out.mp4.vrtd'), 65534, 65534)
            self.assertIn("is another user's", self.show('cancel', status=1)[1])

    def test_words_of_jobs(self):
        """A path among jobs' numbers names a film."""
        self.queue((12, 12, 'PENDING', 'Priority'))
        self.assertEqual(self.ctl('pause', 'out.mp4')[0],
                         'out.mp4 is paused: tasks that run go on\n')
        out, err = self.ctl('cancel', 'out.mp4', 7, status=3)
        self.assertEqual(out, 'out.mp4 was cancelled\n')
        self.assertIn('not running', err)
        self.asked()
        for arguments, says in ((['cancel', 'none.mp4', 'out.mp4'], "is not a job's number, nor"),
                                (['resume', 'out.mp4', '-m', 'x'], "is a cluster's film: --out"),
                                (['retry', '-o', 'x', 'out.mp4'], "is a cluster's film: --out"),
                                (['show', '--history', 'out.mp4'], "is a cluster's film")):
            self.complaint(*arguments, status=2, says=says)
        self.assertEqual(self.asked(), [])

    def test_lists(self):
        """By Slurm, and by the index: each film once, whatever its name, and none that is gone."""
        self.ctl('submit', '--cluster', '-o', 'se|ond.mp4', 'video.mp4')
        tags = [json.loads(self.text_of(f'{name}.mp4.vrtd/slurm.json'))['tag']
                for name in ('out', 'se|ond')]
        self.write('queue', ''.join(
            f'{n}|{n}|RUNNING|None|{tag}|{self.path(folder)}\n' for n, tag, folder in (
                (17, tags[1], 'se|ond.mp4.vrtd'), (12, tags[0], 'out.mp4.vrtd'),
                (18, tags[1], 'se|ond.mp4.vrtd'), (9, 'vrtd:9', 'gone.vrtd'))))
        out, err = self.ctl('cluster')
        self.assertEqual([line.split(':')[0] for line in out.splitlines()],
                         ['se|ond.mp4', 'out.mp4'])
        self.assertEqual(len(err.splitlines()), 1)
        self.assertIn('no cluster restores', err)
        os.remove(self.path('asked'))
        self.assertEqual(self.ctl('list', status=3)[0].count('waiting'), 2)     # without a daemon
        self.serve(lambda _: answer({'jobs': []}))

        def listed(*options):
            out, err = self.ctl('list', *options)
            self.assertEqual(err, '')
            return [[*line.split()[:3], line.split('/')[-1]] for line in out.splitlines()[1:]]
        self.plan(1)
        self.note('1', state='running')
        self.note('0', error='x')
        first, second = ['restoring', '40%', '1/3', 'out.mp4: x'], ['waiting', '-', '-',
                                                                    'se|ond.mp4']
        self.assertEqual(listed(), [first, second])
        self.assertEqual(listed('--reverse'), [second, first])
        self.assertEqual(listed('--state', 'running,done'), [first])
        self.assertEqual(self.ctl('list', '--state', 'paused')[0], 'no such job is remembered\n')
        for task, state, says, job_state in (
                ('plan', 'running', 'planning', 'running'), ('join', 'running', 'joining',
                 'finishing'), ('rest', 'failed', 'failed', 'failed'), ('join', 'done', 'done',
                 'done')):
            self.note(task, state=state)
            self.assertEqual([line[0] for line in listed('--state', job_state)], [says])
        got = [json.loads(line) for line in self.ctl('list', '--json', '--all')[0].splitlines()]
        self.assertEqual([(film['state'], film['tasks_running'], film['tasks_waiting'])
                          for film in got], [('done', 0, None), ('waiting', 0, None)])
        # Another film has its name by now; one whose record is damaged is told of.
        self.record(tag='vrtd:7.7')
        self.assertEqual(listed('--all'), [second])
        index = self.path('state-home/vrtd/films')
        self.assertEqual(os.listdir(index), [tags[1]])
        self.write('se|ond.mp4.vrtd/slurm.json', '{')
        self.assertIn("can't be read", self.ctl('list')[1])
        shutil.rmtree(self.path('se|ond.mp4.vrtd'))
        self.assertIn('no job is waiting', self.ctl('list')[0])
        self.assertEqual(os.listdir(index), [])
        self.assertEqual(listed(), [])
        self.assertFalse(os.path.exists(self.path('asked')))        # Slurm is not


class Followed(Cluster):
    def setUp(self):
        super().setUp()
        self.submit('--nodes', 2)

    def follow(self, word='follow', **options):
        return self.ctl('cluster', word, 'out.mp4', **options)

    def test_ends(self):
        self.plan()
        for changes, note, says in (
                ({'is_cancelled': True}, {}, 'it was cancelled; vrtctl cluster retry'),
                ({}, {'state': 'failed', 'error': 'no video', 'error_id': 'input.bad'}, 'no video'),
                ({'submissions': 2}, {'state': 'failed', 'error': 'hot',
                                      'error_id': 'device.lost'}, 'hot')):
            self.record(**dict({'is_cancelled': False}, **changes))
            self.note('plan', **note)
            out, err = self.follow(status=1)
            self.assertEqual(len(out.splitlines()), 1)
            self.assertIn(f'vrtctl: out.mp4: {says}', err)
            self.assertEqual(self.follow('wait', status=1), ('', err))
        self.note('join', state='done', warnings=['no seat', 7])
        out, err = self.ctl('wait', 'out.mp4')
        self.assertEqual(out, 'out.mp4: done, 100% of it done\n')
        self.assertEqual(err, 'vrtctl: out.mp4: warning: no seat\nvrtctl: out.mp4: warning: \n')
        self.assertFalse(os.path.exists(self.path('out.mp4.vrtd')))
        self.assertIn('no cluster restores', self.follow(status=1)[1])

    def test_again(self):
        """What failed by a node is submitted once more, and what is lost; a third time isn't."""
        self.plan()
        self.note('0', state='failed', error='hot', error_id='device.failed', node='node1')
        self.note('rest', state='failed', error='hot', error_id='cluster.segment', node='node2')
        self.asked()
        out, err = self.follow(status=1)
        self.assertEqual(out.splitlines(), [
            'out.mp4: failed, 0% of it done; hot',
            'out.mp4: it failed by a node: submitted again, without node1',
            'out.mp4: lost, 0% of it done'])
        self.assertEqual(err, "vrtctl: out.mp4: Slurm has ended or lost its jobs twice, and it "
                              "isn't done; vrtctl cluster retry goes on behind what is made\n")
        self.assertEqual(len(self.asked()), 4)
        self.record(submissions=1)
        self.note('1', error='x', error_id='store.full')
        out, err = self.follow(status=1)
        self.assertIn("and it isn't done: x; vrtctl cluster retry", err)
        self.assertEqual(out.splitlines(), [
            'out.mp4: lost, 0% of it done; x',
            'out.mp4: Slurm has no jobs of it any more: submitted again, without node1'])
        self.assertEqual(self.record()['submissions'], 2)

    def begin(self, *options):
        self.queue((12, 12, 'RUNNING', 'None'))
        process = subprocess.Popen(
            self.command('cluster', 'follow', *options, 'out.mp4'), env=self.environment, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self.folder)
        self.addCleanup(lambda: process.poll() is None and process.kill())
        return process

    def test_others(self):
        """Another vrtctl follows it, too, and removes its folder at the end."""
        self.plan()
        for options, made, status in (((), 'result', 0), (('--json',), 'result', 0), ((), '', 1)):
            shutil.copytree(self.path('out.mp4.vrtd'), self.path('kept'))
            process = self.begin(*options)
            self.assertIn('restoring', process.stdout.readline())
            self.write('out.mp4', made)
            shutil.rmtree(self.path('out.mp4.vrtd'))
            out, err = process.communicate(timeout=PATIENCE_S)
            self.assertEqual(process.returncode, status, err)
            if status:
                self.assertIn('no cluster restores', err)
            elif options:
                self.assertEqual([json.loads(out)[key] for key in (
                    'state', 'frames_done', 'frames_total', 'segments_done')], ['done', 20, 20, 3])
            else:
                self.assertIn('done; another vrtctl', out)
            os.rename(self.path('kept'), self.path('out.mp4.vrtd'))

    def test_silence(self):
        """A Slurm that doesn't answer is told of once each time, and a folder that can't go."""
        self.write('squeue.fails', 'away')
        process = self.begin()
        self.assertEqual(process.stderr.readline(), 'vrtctl: out.mp4: squeue: away\n')
        os.remove(self.path('asked'))
        deadline = time.monotonic() + PATIENCE_S
        while not os.path.exists(self.path('asked')) or self.text_of('asked').count('\n') < 2:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.05)
        os.remove(self.path('squeue.fails'))
        self.assertIn('restoring', process.stdout.readline())
        self.write('squeue.fails', 'away')
        self.assertEqual(process.stderr.readline(), 'vrtctl: out.mp4: squeue: away\n')
        os.makedirs(self.path('out.mp4.vrtd/attempts/a/1/x/y/z'))
        self.note('join', state='done')
        out, err = process.communicate(timeout=PATIENCE_S)
        self.assertEqual((process.returncode, err.count('not empty')), (0, 1))
        self.assertEqual(out, 'out.mp4: done, - of it done\n')

    @unittest.skipUnless(shutil.which('unshare'), 'a disk of its own is for Linux')
    def test_full_disk(self):
        """Tasks that are lost there had no room to say why: it is told, and isn't tried again."""
        self.note('0', error='hot', error_id='device.failed', node='node1')
        fill = ('f=out.mp4.vrtd; cp -a $f kept && mount -t tmpfs -o size=64k none $f && '
                'cp -a kept/. $f || exit 1\nhead -c 65536 /dev/zero >$f/rest; exec "$@" 2>&1')
        self.command = lambda *a, c=self.command: ['unshare', '-rm', 'sh', '-c', fill, '-', *c(*a)]
        out, err = self.follow('wait', status=1)
        if not out:
            self.skipTest(err)              # nothing may be mounted here
        self.assertIn('is full: make room, and go on with vrtctl cluster retry\n', out)

    def test_submitted(self):
        """submit --follow follows what was submitted; whatever went wrong decides."""
        self.ctl('cluster', 'remove', 'out.mp4')
        # Its jobs are seen to fail at once; there is a record of it before Slurm is asked.
        self.write('bin/squeue', '#!/bin/sh\nf=$FAKE/out.mp4.vrtd; mkdir -p "$f/tasks"\n'
                   '[ -e "$f/slurm.json" ] || exit 1\n'
                   'echo \'{"state": "failed", "error": "no"}\' >"$f/tasks/plan.json"\n')
        self.assertIn('there are 2 inputs', self.submit('--follow', 'missing.mp4', status=2)[1])
        self.assertEqual(self.submit('--follow', status=1), ('out.mp4: failed, - of it done; no\n',
                                                             'vrtctl: out.mp4: no\n'))


class Rest(Cluster):
    """A slurmrestd of the test's own, of an older version."""

    def setUp(self):
        super().setUp()
        self.token, self.asks, self.replies = [], [], {}
        self.jobs, self.version, self.versions = [], 'v0.0.38', []

        def respond(request):
            self.token.append((request.headers.get('x-slurm-user-token'),
                               request.headers.get('x-slurm-user-name')))
            _, _, version, path = request.path.split('/', 3)
            self.versions.append(version)
            if version != self.version:
                return answer('no such page', 404)
            self.asks.append((request.method, path, json.loads(request.body or 'null')))
            if (request.method, path) in self.replies:
                return self.replies[request.method, path]
            return answer({'jobs': self.jobs} if path == 'jobs' else
                          {'job_id': 10 + len(self.asks)})
        self.serve(respond)
        self.environment.update(VRTD_SLURM_URL='unix:' + self.server.path,
                                http_proxy='http://127.0.0.1:1', no_proxy='')

    def test_newer(self):
        self.version = 'v0.0.42'
        server = FakeVrtd(None, self.server.respond)
        self.addCleanup(server.close)
        self.environment.update(
            VRTD_SLURM_URL='http://127.0.0.1:%d' % server.listener.getsockname()[1], no_proxy='*')
        self.submit()
        self.assertEqual(self.versions, 5 * ['v0.0.42'])
        self.assertEqual(self.asks[1][2]['job']['open_mode'], ['APPEND'])

    def test_film(self):
        self.environment['SLURM_JWT'] = 's'
        self.submit('-d', 'cuda')
        self.assertEqual(set(self.token), {('s', getpass.getuser().lower())})
        self.assertEqual(self.versions, 5 * ['v0.0.42', 'v0.0.40', 'v0.0.38'])
        self.assertEqual([ask[:2] for ask in self.asks],
                         [('GET', 'jobs')] + [('POST', 'job/submit')] * 4)
        tag = self.record()['tag']
        self.assertEqual([self.record()[key] for key in ('plan', 'array', 'join')], [12, 13, 15])
        self.assertEqual(self.asks[2][2]['job']['dependency'], 'afterok:12')
        self.jobs = [{'user_name': getpass.getuser(), 'comment': tag, 'job_id': 13,
                      'job_state': 'PENDING', 'state_reason': 'Priority'}]
        del self.environment['VRTD_SLURM_URL'], self.environment['SLURM_JWT'], self.token[:]
        self.assertIn('waiting, - of it done; tasks: 0 running, 1 waiting (Priority)',
                      self.ctl('cluster', 'show', 'out.mp4')[0])
        self.assertEqual(set(self.token), {(None, None)})
        for word, ask in (('hold', ('POST', 'job/13', {'hold': True})),
                          ('release', ('POST', 'job/13', {'hold': False})),
                          ('cancel', ('DELETE', 'job/13', None))):
            self.ctl('cluster', word, 'out.mp4')
            self.assertEqual(self.asks[-1], ask)
        # That it has ended is as good.
        for number, status in ((2017, 0), (2021, 0), (2018, 1)):
            self.replies['DELETE', 'job/13'] = answer(
                {'errors': [{'error_number': number, 'error': 'x'}]}, 500)
            self.ctl('cluster', 'cancel', 'out.mp4', status=status)
        self.assertEqual(self.asked(), [])

    def test_refused(self):
        for reply, says in (
                (answer('', 401), 'set SLURM_JWT to a token'), (answer('', 511), 'set SLURM_JWT'),
                (answer('{}', 500), 'slurmrestd: HTTP status 500'),
                (answer('', 404), 'is no slurmrestd of Slurm 22.05 or later'),
                (answer({'errors': [{'error': 'no way'}]}, 404), 'slurmrestd: no way\n'),
                (answer({'errors': [{'error': 'a', 'description': 'x'}]}, 500), 'slurmrestd: x: a'),
                (answer({'errors': [{'error': 'a', 'description': 'b a'}]}, 500), 'restd: b a\n'),
                (answer('?'), "slurmrestd's answer makes no sense"),
                (answer({}), "slurmrestd's answer names no job"),
                (answer({'job_id': -1}), "slurmrestd's answer names no job")):
            self.replies['POST', 'job/submit'] = reply
            with self.subTest(reply=reply):
                self.assertIn(says, self.submit(status=1)[1])
        if options := self.as_nobody():
            _, err = self.ctl('cluster', status=1, **dict(options, user=54321))
            self.assertIn('this user has no name here', err)
        self.version = 'v9'
        self.assertIn('is no slurmrestd of Slurm 22.05 or later', self.submit(status=1)[1])
        self.server.close()
        self.assertIn("doesn't answer", self.submit(status=1)[1])
        self.assertFalse(os.path.exists(self.path('out.mp4.vrtd')))


if __name__ == '__main__':
    unittest.main(verbosity=2)
