#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The page in a browser, as a user has it: Debian's Chromium, without a window.

Skipped where no Chromium is installed. Whatever a page writes to its console as an error fails the
test: what a policy forbids, too.
"""
import json
import os
import re
import subprocess
import sys
import time

import chromium
import harness
from browser import free_port
from harness import PATIENCE_S, Case, Daemon, clip

WIDTHS = 390, 1280
LIVE = "document.getElementById('link')?.textContent === 'live'"


def text_of(selector):
    return f'(document.querySelector({json.dumps(selector)})?.textContent ?? "")'


class Page(Case):
    small = True

    @classmethod
    def setUpClass(cls):
        cls.port = free_port()
        cls.url = f'http://127.0.0.1:{cls.port}/'
        cls.config = {'web': {'listen': f'127.0.0.1:{cls.port}'}, 'jobs': {'max_running': 2},
                      **harness.SLOW}
        super().setUpClass()
        cls.browser = chromium.Chromium()
        cls.addClassCleanup(cls.browser.close)
        cls.token = cls.new_token('ada', '--admin')
        cls.short = clip(os.path.join(cls.folder, 'short.mp4'), frames=12, audio=True)
        cls.long = clip(os.path.join(cls.folder, 'long.mkv'), frames=1000, size='320x240')

    @classmethod
    def new_token(cls, *arguments):
        done = subprocess.run([harness.VRTCTL, 'token', 'new', *arguments], text=True, check=True,
                              env=dict(os.environ, VRTD_SOCKET=cls.daemon.socket),
                              capture_output=True, timeout=PATIENCE_S)
        return re.search(r'vrtd_[\w-]+', done.stdout).group()

    def setUp(self):
        self.browser.new_page()
        self.browser.size(1280, 900)

    def tearDown(self):
        # Until there is a picture to see, Chromium says each time that there is none.
        self.assertEqual([c for c in self.browser.complaints if '/preview' not in c], [])
        # What one test leaves doesn't keep devices busy in the next.
        self.vrtctl('cancel', '--all', status=None)

    def log_in(self, token=None):
        self.browser.open(self.url)
        self.browser.wait("document.getElementById('token')")
        self.browser.evaluate("document.getElementById('token').focus()")
        self.browser.type(token or self.token)
        self.browser.press('Enter')
        self.browser.wait(LIVE)

    def submit(self, path, **options):
        """By the form. Return: the job's number, once the page shows it."""
        # By the number: the list of those that were there may come only now.
        jobs = self.daemon.request('GET', '/v1/jobs')[1]['jobs']
        newest = max((job['id'] for job in jobs), default=0)
        self.browser.choose('#file', path)
        for key, value in options.items():
            field = f'document.getElementById("option-{key}")'
            self.browser.evaluate(f'{field}.value = {json.dumps(value)}')
        self.browser.click('#go')
        ids = "[...document.querySelectorAll('.card[id]')].map((e) => Number(e.id.slice(4)))"
        self.browser.wait(f'Math.max(...{ids}) > {newest}')
        return max(self.browser.evaluate(ids))

    def queue(self, path, *options):
        """By vrtctl. Return: the job's number, once the page shows it."""
        target = os.path.join(self.folder, f'{time.monotonic_ns()}.mkv')
        done = self.vrtctl('submit', '--json', *options, '-o', target, path)
        job = json.loads(done.stdout.splitlines()[-1])['id']
        self.browser.wait(f"document.getElementById('job-{job}')")
        return job

    def press(self, job, label):
        """The button of a job."""
        self.browser.evaluate(f"""[...document.querySelectorAll('#job-{job} .row button')].find(
            (e) => e.textContent === '{label}' && !e.hidden).id = 'pressed'""")
        self.browser.click('#pressed')
        self.browser.evaluate("document.getElementById('pressed')?.removeAttribute('id')")

    def wait_for_state(self, job, state):
        self.browser.wait(f"{text_of(f'#job-{job} .state')} === '{state}'", PATIENCE_S)

    def job(self, number):
        return self.daemon.job(number)

    def test_login(self):
        """A wrong token is refused in the API's words; the right one leads in, logging out back."""
        self.browser.open(self.url)
        self.browser.evaluate("document.getElementById('token').focus()")
        self.browser.type('vrtd_wrong')
        self.browser.press('Enter')
        self.browser.wait(f'{text_of("#error")}.length > 10')
        # Chromium itself says that something was refused.
        self.assertEqual(len(self.browser.complaints), 1)
        self.assertIn('/v1/session', self.browser.complaints.pop())
        self.log_in()
        self.assertEqual(self.browser.evaluate("document.cookie"), '')
        self.browser.wait("document.querySelectorAll('#option-codec option').length > 1")
        self.browser.click('#logout')
        self.browser.wait("document.getElementById('token')")

    def test_life(self):
        """Up, live progress, pause, resume; then another to its end, and down: the same bytes."""
        self.log_in()
        job = self.submit(self.long, quality='30', device='cpu:0,cpu')
        self.wait_for_state(job, 'running')
        self.assertEqual(self.job(job)['recipe']['quality'], 30)
        self.assertEqual(self.job(job)['device'], 'cpu:0,cpu')
        facts = text_of(f'#job-{job} .facts')
        seen = set()
        deadline = time.monotonic() + PATIENCE_S
        while len(seen) < 5:
            seen.add(self.browser.evaluate(facts))
            self.assertLess(time.monotonic(), deadline, seen)
            time.sleep(0.05)
        self.press(job, 'Pause')
        self.wait_for_state(job, 'paused')
        self.press(job, 'Resume')
        self.wait_for_state(job, 'running')
        other = self.submit(self.short)
        self.press(other, '+')
        self.wait_for_state(other, 'done')
        self.press(job, 'Cancel')
        self.browser.wait("document.getElementById('sure').open")
        self.browser.click('#sure-yes')
        self.wait_for_state(job, 'cancelled')
        self.assertEqual(self.job(job)['state'], 'cancelled')

        self.browser.downloads_into(self.folder)
        self.browser.click(f'#job-{other} a')
        result = self.path('short.restored.mp4')
        self.wait_until(lambda: os.path.exists(result))
        wanted = self.path('wanted.mp4')
        self.restore(self.short, wanted)
        self.wait_until(lambda: os.path.getsize(result) == os.path.getsize(wanted))
        self.assertEqual(harness.digest(result), harness.digest(wanted))
        self.press(other, 'Remove')
        self.browser.wait(f"!document.getElementById('job-{other}')")

    def test_slider(self):
        """Before and after of a running job, parted by keys, a mouse and a finger."""
        self.log_in()
        job = self.queue(self.long)
        self.press(job, 'Details')
        picture = f"document.querySelector('#job-{job} .stage .after img')"
        self.browser.wait(f'{picture}?.naturalWidth > 0', PATIENCE_S)
        # The input's frame and the result's, side by side: 320x240 each or as much as is shown.
        width, height = self.browser.evaluate(f'[{picture}.naturalWidth, {picture}.naturalHeight]')
        self.assertAlmostEqual(width / 2 / height, 4 / 3, delta=0.02)
        # Another one comes while it runs.
        first = self.browser.evaluate(f'{picture}.src')
        self.browser.wait(f'{picture}.src !== {json.dumps(first)}')
        clipped = f"document.querySelector('#job-{job} .stage .after').style.clipPath"
        self.assertIn('50%', self.browser.evaluate(clipped))
        self.browser.evaluate(f"document.querySelector('#job-{job} .stage input').focus()")
        self.browser.press('ArrowRight')
        self.assertIn('51%', self.browser.evaluate(clipped))
        self.browser.press('Home')
        self.assertNotIn('5', self.browser.evaluate(clipped))
        self.browser.click(f'#job-{job} .stage input')
        self.assertRegex(self.browser.evaluate(clipped), r'\b(49|50|51)%')
        self.browser.size(390, 844)
        box = f"""(() => {{ const e = document.querySelector('#job-{job} .stage');
            e.scrollIntoView({{ block: 'center' }});
            const b = e.getBoundingClientRect(); return [b.x, b.y, b.width, b.height]; }})()"""
        x, y, width, height = self.browser.evaluate(box)
        self.browser.touch(x + 0.8 * width, y + height / 2)
        self.browser.wait(f"Number({clipped}.match(/[\\d.]+%/)[0].slice(0, -1)) > 70")

    def test_refused(self):
        """In the API's own sentences; the field that is at fault is shown."""
        self.log_in()
        self.browser.choose('#file', self.short)
        self.browser.evaluate("document.getElementById('option-quality').value = '999'")
        self.browser.click('#go')
        self.browser.wait("document.getElementById('option-quality').ariaInvalid === 'true'")
        self.assertRegex(self.browser.evaluate(text_of('#form-error')), 'quality')
        nothing = self.path('nothing.mp4')
        with open(nothing, 'w', encoding='utf-8') as f:
            f.write('no video')
        self.browser.evaluate("document.getElementById('option-quality').value = ''")
        self.browser.choose('#file', nothing)
        self.browser.click('#go')
        self.browser.wait(f"{text_of('#form-error')}.includes('video')")
        # Dropped, it is chosen as well; nothing opens it.
        self.browser.evaluate("""(() => { const data = new DataTransfer();
            data.items.add(new File(['x'], 'dropped.mp4'));
            document.body.dispatchEvent(new DragEvent('drop', { dataTransfer: data,
                bubbles: true, cancelable: true })); })()""")
        self.assertIn('dropped.mp4', self.browser.evaluate(text_of('#chosen')))
        # Refusals are said on the console by Chromium itself.
        self.assertTrue(all('Failed to load' in c for c in self.browser.complaints))
        self.browser.complaints.clear()

    def test_reference(self):
        """A second file goes up, with which the result is compared; one that is unlike is refused,
        as a field that is wrong is."""
        truth = self.path('truth.mkv')
        harness.ffmpeg('-i', self.short, '-vf', 'scale=2*iw:2*ih', '-an', '-c:v', 'ffv1', truth)
        self.log_in()
        self.browser.choose('#option-reference', self.short)
        self.browser.choose('#file', self.short)
        self.browser.click('#go')
        self.browser.wait("document.getElementById('option-reference').ariaInvalid === 'true'")
        self.assertIn('pixels', self.browser.evaluate(text_of('#form-error')))
        self.browser.complaints.clear()
        self.browser.choose('#option-reference', truth)
        job = self.submit(self.short)
        self.wait_for_state(job, 'done')
        self.browser.wait(f"{text_of(f'#job-{job} .facts')}.includes('PSNR')")
        self.assertEqual(self.job(job)['comparison']['frames_total'], 12)

    def test_names_of_results(self):
        """As vrtctl calls them: by the input's ending, or what holds such."""
        self.log_in()
        for name in 'film.avi', 'moving.gif':
            path = self.path(name)
            harness.ffmpeg('-i', self.short, '-an', '-frames:v', '3', path)
            job = self.submit(path)
            wanted = os.path.basename(json.loads(self.vrtctl(
                'submit', '--dry-run', '--json', path).stdout)['output_name'])
            self.assertEqual(self.job(job)['output_name'], wanted)

    def test_names_are_text(self):
        """A file's name is never taken for markup."""
        name = self.path('<img src=x onerror=document.title=1>&amp;.mp4')
        os.link(self.short, name)
        self.log_in()
        job = self.queue(name)
        self.wait_for_state(job, 'done')
        self.assertEqual(self.browser.evaluate(text_of(f'#job-{job} h3')), os.path.basename(name))
        self.assertEqual(self.browser.evaluate('document.title'), 'vrtd')
        self.assertEqual(self.browser.evaluate("document.querySelectorAll('#jobs h3 img').length"),
                         0)

    def test_widths(self):
        """Nothing is wider than the window; words can be read in both schemes of colours."""
        long = self.path('a-very-long-name-of-a-film-without-a-space-in-it' * 3 + '.mp4')
        os.link(self.short, long)
        self.log_in()
        job = self.queue(long)
        self.press(job, 'Details')
        self.browser.evaluate("document.querySelector('#form details').open = true")
        for width in WIDTHS:
            for dark in False, True:
                self.browser.size(width, 844, dark)
                with self.subTest(width=width, dark=dark):
                    self.assertLessEqual(
                        self.browser.evaluate('document.documentElement.scrollWidth'), width)
                    for ratio in self.browser.evaluate(CONTRASTS):
                        self.assertGreaterEqual(ratio[1], 4.5, ratio)

    def test_keyboard_alone(self):
        """Whatever can be done, can be done by keys, and each thing says what it is."""
        self.log_in()
        self.tab_to("document.activeElement.id === 'go'")
        self.browser.press('Enter')
        self.browser.wait(f"{text_of('#form-error')}.includes('Choose')")
        job = self.queue(self.long)
        self.wait_for_state(job, 'running')
        self.tab_to("document.activeElement.textContent === 'Pause'")
        self.browser.press(' ')
        self.wait_for_state(job, 'paused')
        # The focus is still in the job, not lost with the button.
        self.browser.wait(f"document.activeElement.closest('#job-{job}')")
        self.tab_to("document.activeElement.textContent === 'Cancel'")
        self.browser.press('Enter')
        self.browser.wait("document.getElementById('sure').open")
        self.browser.press('Tab')
        self.browser.press('Enter')
        self.wait_for_state(job, 'cancelled')
        self.browser.wait(f"{text_of('#said')}.includes('cancelled')")
        nodes = self.browser.call('Accessibility.getFullAXTree')['nodes']
        for node in nodes:
            properties = {p['name']: p['value'].get('value') for p in node.get('properties', [])}
            if properties.get('focusable') and node['role']['value'] not in ('RootWebArea', 'list'):
                self.assertTrue(node.get('name', {}).get('value'), node)

    def tab_to(self, condition):
        for _ in range(80):
            if self.browser.evaluate(condition):
                style = self.browser.evaluate("""(() => {
                    const e = document.activeElement;
                    return [e, e.closest('label'), e.parentElement].filter((x) => x).map(
                        (x) => getComputedStyle(x).outlineStyle); })()""")
                self.assertTrue(set(style) - {'none'}, 'the focus is not seen')
                return
            self.browser.press('Tab')
        self.fail(f'no key leads to {condition}')


class Lost(Page):
    """Tests whose daemon goes."""

    test_login = test_life = test_slider = test_refused = test_names_are_text = test_widths = None
    test_keyboard_alone = test_names_of_results = test_reference = None

    def test_daemon_goes(self):
        """That it is gone is said; when it is back, one logs in again, and is told why."""
        self.log_in()
        self.assertEqual(self.daemon.stop(), 0)
        self.browser.wait("document.getElementById('link').classList.contains('lost')")
        type(self).daemon = Daemon(self.folder, self.config)
        self.addClassCleanup(self.stop_daemon, self.daemon)
        self.browser.wait(f"{text_of('#error')}.includes('session has ended')")
        self.browser.complaints.clear()
        self.log_in()

    def test_revoked(self):
        """A token that is revoked ends what was begun with it."""
        self.log_in(self.new_token('guest'))
        self.vrtctl('token', 'revoke', 'guest')
        self.browser.wait("document.getElementById('token')")
        self.browser.complaints.clear()


# WCAG 2.1, 1.4.3: of each kind of text against what is behind it.
CONTRASTS = """(() => {
    const light = (color) => {
        const part = color.match(/[\\d.]+/g).slice(0, 3).map((v) => v / 255).map((v) =>
            v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
        return 0.2126 * part[0] + 0.7152 * part[1] + 0.0722 * part[2];
    };
    const behind = (e) => {
        for (; e; e = e.parentElement) {
            const color = getComputedStyle(e).backgroundColor;
            if (!color.startsWith('rgba(0, 0, 0, 0'))
                return color;
        }
        return 'rgb(255, 255, 255)';
    };
    return [...document.querySelectorAll('h1, h2, h3, p, label, button, .facts, .state, .hint, ' +
        'figcaption span, a:not(.skip), summary')].filter((e) => e.offsetParent &&
        e.textContent).map((e) => {
            const pair = [light(getComputedStyle(e).color), light(behind(e))].sort((a, b) => b - a);
            return [`${e.tagName} ${e.className} ${e.textContent.slice(0, 20)}`,
                (pair[0] + 0.05) / (pair[1] + 0.05)];
        });
})()"""


if __name__ == '__main__':
    if not chromium.find():
        print('skipped: Chromium is not installed (Debian: chromium)')
        sys.exit(77)
    harness.main()
