#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""vrtctl doctor against a server of the test's own, and against none.

usage: test_vrtctl_doctor.py VRTCTL [unittest arguments]
"""
import grp
import json
import os
import socket
import unittest

from fake_vrtd import answer, refusal
from vrtctl_case import Case


def check(check_id, subject=None, status='ok', result='all is well', cure=None):
    return {'id': check_id, 'subject': subject, 'status': status, 'by': 'vrtd', 'result': result,
            'cure': cure}


def report(*checks, **more):
    return {'version': '0.1.0', 'user': 'vrtd', 'pid': 812,
            'failed': sum(c['status'] == 'failed' for c in checks),
            'warnings': sum(c['status'] == 'warning' for c in checks),
            'checks': list(checks)} | more


WELL = [check('environment'), check('device.state', 'cpu:0', result='ready'),
        check('device.network.bf16', 'cpu:0'), check('folder.state', '/var/lib/vrtd'),
        check('gpu.hardware', '0000:03:00.0'), check('gpu.node', '/dev/dri/renderD128'),
        check('backend.driver', 'cuda', 'note'), check('device.kernel', 'cpu:1', 'skipped')]
ILL = check('device.kernel', 'cuda:0', 'failed', 'wrong by up to 3', 'look after its memory')


class Doctor(Case):
    def examines(self, *checks, **more):
        def respond(request):
            self.seen = request
            return answer(report(*checks, **more))
        self.serve(respond)

    def test_well(self):
        self.examines(*WELL)
        out, err = self.run_it('doctor')
        self.assertEqual(err, '')
        self.assertEqual((self.seen.method, self.seen.path), ('POST', '/v1/doctor'))
        self.assertEqual(self.seen.json(), {'device': ''})
        self.assertEqual(out, f"""\
ok       vrtd                 0.1.0, process 812, user vrtd, at {self.server.path}
ok       environment          all is well
ok       cpu:0                ready
ok       cpu:0 network bf16   all is well
ok       state folder         all is well
ok       GPU 0000:03:00.0     all is well
ok       /dev/dri/renderD128  all is well
note     cuda driver          all is well
skipped  cpu:1 kernel         all is well

9 checks: 0 failed, 0 warnings
""")

    def test_ill(self):
        self.examines(*WELL, ILL, check('backend.plugin', 'cuda', 'warning', cure='install it'))
        out, _ = self.run_it('doctor', '-d', 'cuda:0', status=1)
        self.assertEqual(self.seen.json(), {'device': 'cuda:0'})
        self.assertRegex(out, r'\nFAILED +cuda:0 kernel +wrong by up to 3\n +cure: look after its '
                              r'memory\nWARNING +cuda plugin +all is well\n +cure: install it\n')
        self.assertTrue(out.endswith('\n11 checks: 1 failed, 1 warning\n'), out)

    def test_json(self):
        self.examines(*WELL, ILL)
        out, err = self.run_it('doctor', '--json', status=1)
        self.assertEqual(len(out.splitlines()), 1)
        got = json.loads(out)
        self.assertEqual(got['checks'][0]['id'], 'daemon.reach')
        self.assertEqual(got['checks'][0]['by'], 'vrtctl')
        self.assertEqual(got['checks'][1:], [*WELL, ILL])
        self.assertEqual((got['failed'], got['warnings'], got['user'], err), (1, 0, 'vrtd', ''))

    def test_waited_for(self):
        self.examines(*WELL)
        out, err = self.watched('doctor')
        self.assertEqual(err, 'examining ...\r\x1b[K')
        self.assertIn('9 checks', out)

    def test_model(self):
        """A name, or a file that is sent along."""
        self.examines(*WELL)
        self.run_it('doctor', '-m', 'compact-x2')
        self.assertEqual(self.seen.json(), {'device': '', 'model': {'name': 'compact-x2'}})
        self.assertEqual(self.seen.files, [])
        self.run_it('doctor', '-m', './video.mp4')
        self.assertEqual(self.seen.json()['model'], {'name': 'video.mp4', 'fd': 0})
        self.assertEqual(len(self.seen.files), 1)
        self.complaint('doctor', '-m', './none.pth', status=1, says='./none.pth: No such file')

    def test_another_version(self):
        """No warning is a failure."""
        self.examines(check('backend.plugin', 'cuda', 'warning'), version='9.9')
        out, _ = self.run_it('doctor')
        self.assertRegex(out, r'\nWARNING +vrtd +vrtctl is version [0-9.]+, vrtd is 9\.9\n +cure: ')

    def test_what_a_newer_daemon_tells(self):
        """Unknown ids and statuses are shown; control characters move no cursor."""
        self.examines(check('moon.phase', status='bright', result='full\x1b[2J'),
                      check('device.aura', 'cpu:0', result=''), check('a.b', 255 * 'x'), extra=1)
        out, _ = self.run_it('doctor')
        self.assertRegex(out, r'\nnote +moon\.phase +full\?\[2J\n')
        self.assertRegex(out, r'\nok +cpu:0 aura +\n(.*\n)*ok +x+[.]* b +all is well\n')

    def test_wrapped_on_a_terminal(self):
        words = ' '.join(f'word{i}' for i in range(60))
        self.examines(check('device.kernel', 'cpu:0', 'failed', words, words),
                      check('environment', 'A_VARIABLE_WITH_A_VERY_LONG_NAME'),
                      check('device.network.bf16', 'cpu:0'))
        for columns in 80, 45:
            out = self.on_terminal(columns, 'doctor', status=1)
            lines = out.replace(self.folder, '').splitlines()   # one word, however long
            self.assertLessEqual(max(map(len, lines)), columns, out)
            self.assertGreater(len(lines), 16)
            self.assertEqual(' '.join(out.split()).count(words), 2)
            # Below its label stands what the label leaves no room for.
            self.assertEqual('\nok       cpu:0 network bf16  all is well\n' in out, columns == 80)
            self.assertRegex(out, 'LONG_NAME *\n +all is well\n')

    def test_refused(self):
        self.serve(lambda _: refusal(422, 'device.unknown', 'there is no device cuda:7'))
        self.complaint('doctor', '-d', 'cuda:7', status=1, says='there is no device cuda:7')
        self.serve(lambda _: refusal(503, 'doctor.busy', 'another examination goes on'))
        self.complaint('doctor', status=1, says='another examination goes on')
        self.serve(lambda _: refusal(404, 'route.not_found', 'nothing is at /v1/doctor'))
        self.complaint('doctor', status=1, says='too old to examine anything')
        self.serve(lambda _: answer({'checks': 7}))
        self.complaint('doctor', status=3, says="vrtd's answer is not understood")

    def expect_own(self, says, cure, **options):
        out, _ = self.run_it('doctor', '--json', status=1, **options)
        got = json.loads(out)
        self.assertIsNone(got['version'])
        self.assertEqual({c['by'] for c in got['checks']}, {'vrtctl'})
        ids = [c['id'] for c in got['checks']]
        self.assertEqual(ids[:2], ['daemon.reach', 'daemon.devices'])
        self.assertIn('environment', ids)
        self.assertIn('gpu.hardware', ids)
        self.assertIn(says, got['checks'][0]['result'])
        self.assertIn(cure, got['checks'][0]['cure'])
        self.assertRegex(self.run_it('doctor', status=1, **options)[0], r'^FAILED +vrtd +')

    def test_no_daemon(self):
        """Nor one that was killed: its socket is still there."""
        self.expect_own('vrtd is not running', 'systemctl start vrtd.socket')
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(self.path('fake.sock'))
        self.expect_own('vrtd is not running', 'systemctl start vrtd.socket')

    def test_forbidden_socket(self):
        """Its group may, where it has one of its own; nobody joins root's."""
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(self.path('fake.sock'))
            os.chmod(self.path('fake.sock'), 0)
            listener.listen()
            options = self.as_nobody()
            self.expect_own('you may not use', 'ask its owner for access', **options)
            for mode, group, cure in ((0o020, 0, 'ask its owner'), (0, 1, 'ask its owner'),
                                      (0o020, 1, f'usermod -aG {grp.getgrgid(1).gr_name} ')):
                if options:
                    os.chown(self.path('fake.sock'), 0, group)
                    os.chmod(self.path('fake.sock'), mode)
                    self.expect_own('you may not use', cure, **options)

    def test_forbidden_folder(self):
        self.serve(lambda _: None)
        os.mkdir(self.path('closed'), 0)
        self.addCleanup(os.chmod, self.path('closed'), 0o700)
        options = self.as_nobody()
        out, _ = self.run_it('--socket', self.path('closed/fake.sock'), 'doctor', status=1,
                             **options)
        self.assertIn('for access to the folder of its socket', out)


if __name__ == '__main__':
    unittest.main(verbosity=2)
