# SPDX-License-Identifier: MIT
"""Debian's Chromium without a window, driven by its DevTools protocol over a pair of pipes.

https://chromedevtools.github.io/devtools-protocol/ says what the methods are. What a page writes to
its console as an error, throws, or is refused by a policy is kept in `complaints`.
"""
import base64
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time

PATIENCE_S = 60
PROGRAMS = ('chromium', 'chromium-browser', 'google-chrome')
KEYS = {'Tab': 9, 'Enter': 13, 'Escape': 27, 'ArrowLeft': 37, 'ArrowRight': 39, 'Home': 36,
        'End': 35, ' ': 32}


def find():
    """The program's path, or None."""
    return next(filter(None, map(shutil.which, PROGRAMS)), None)


class Failed(Exception):
    pass


class Chromium:
    """One browser with one page at a time, each in a profile of its own."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix='vrtd-chromium-')
        ours, theirs = os.pipe(), os.pipe()
        # It reads from descriptor 3, and writes to 4.
        arrange = f'exec 3<&{theirs[0]} 4>&{ours[1]}; exec "$@"'
        self.process = subprocess.Popen(
            ['sh', '-c', arrange, 'sh', find(), '--headless=new', '--remote-debugging-pipe',
             '--no-sandbox', '--no-first-run', '--disable-gpu', '--disable-dev-shm-usage',
             '--disable-background-networking', '--disable-component-update', '--disable-sync',
             '--hide-scrollbars', '--lang=en-GB', f'--user-data-dir={self.folder}/profile',
             'about:blank'],
            pass_fds=(theirs[0], ours[1]), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True, env=dict(os.environ, TZ='UTC'))
        os.close(theirs[0])
        os.close(ours[1])
        self.reads, self.writes = ours[0], theirs[1]
        self.buffer, self.number, self.session, self.profile = b'', 0, None, None
        self.new_page()

    def new_page(self):
        """One that knows nothing of the one before, in its place."""
        self.session, self.events, self.complaints = None, [], []
        if self.profile:
            self.call('Target.disposeBrowserContext', browserContextId=self.profile)
        self.profile = self.call('Target.createBrowserContext')['browserContextId']
        page = self.call('Target.createTarget', url='about:blank', browserContextId=self.profile,
                         newWindow=True)['targetId']
        self.session = self.call('Target.attachToTarget', targetId=page, flatten=True)['sessionId']
        for domain in ('Page', 'Runtime', 'Log', 'Network', 'DOM'):
            self.call(f'{domain}.enable')

    def close(self):
        os.close(self.writes)
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        os.close(self.reads)
        shutil.rmtree(self.folder, ignore_errors=True)

    def read(self, patience_s):
        """The next message, or None."""
        deadline = time.monotonic() + patience_s
        while b'\0' not in self.buffer:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.reads], [], [], left)[0]:
                return None
            data = os.read(self.reads, 1 << 20)
            if not data:
                raise Failed('Chromium has ended')
            self.buffer += data
        message, _, self.buffer = self.buffer.partition(b'\0')
        return json.loads(message)

    def note(self, event):
        """Keeps what a page complains of, and what somebody may wait for."""
        method, given = event.get('method'), event.get('params', {})
        if event.get('sessionId') not in (None, self.session):
            return
        if method == 'Runtime.exceptionThrown':
            self.complaints.append(given['exceptionDetails'].get('exception', {}).get(
                'description', given['exceptionDetails']['text']))
        elif method == 'Runtime.consoleAPICalled' and given['type'] in ('error', 'assert'):
            self.complaints.append(str([a.get('value') for a in given['args']]))
        elif method == 'Log.entryAdded' and given['entry']['level'] == 'error':
            self.complaints.append(f'{given["entry"]["text"]} {given["entry"].get("url", "")}')
        self.events.append(event)

    def call(self, method, **params):
        self.number += 1
        message = {'id': self.number, 'method': method, 'params': params}
        if self.session:
            message['sessionId'] = self.session
        os.write(self.writes, json.dumps(message).encode() + b'\0')
        deadline = time.monotonic() + PATIENCE_S
        while True:
            answer = self.read(deadline - time.monotonic())
            if answer is None:
                raise Failed(f'no answer to {method}')
            if answer.get('id') != self.number:
                self.note(answer)
            elif 'error' in answer:
                raise Failed(f'{method}: {answer["error"]["message"]}')
            else:
                return answer['result']

    def size(self, width, height, dark=False, scale=1):
        """A window of this size, a phone's where it is narrow; and which colours are preferred."""
        self.call('Emulation.setDeviceMetricsOverride', width=width, height=height,
                  deviceScaleFactor=scale, mobile=width < 600)
        self.call('Emulation.setTouchEmulationEnabled', enabled=width < 600)
        self.call('Emulation.setEmulatedMedia', features=[
            {'name': 'prefers-color-scheme', 'value': 'dark' if dark else 'light'}])

    def open(self, url):
        self.call('Page.navigate', url=url)
        self.wait("document.readyState === 'complete'")

    def evaluate(self, script):
        """What the expression comes to, awaited where it is a promise."""
        result = self.call('Runtime.evaluate', expression=script, awaitPromise=True,
                           returnByValue=True, userGesture=True)
        if 'exceptionDetails' in result:
            details = result['exceptionDetails']
            raise Failed(details.get('exception', {}).get('description', details['text']))
        return result['result'].get('value')

    def wait(self, script, patience_s=PATIENCE_S):
        """Until the expression is true."""
        deadline = time.monotonic() + patience_s
        while True:
            try:
                value = self.evaluate(f"!!({script})")
            except Failed as e:
                # A page that goes takes the expression along.
                if 'context' not in str(e) and 'navigat' not in str(e):
                    raise
                value = None
            if value:
                return
            if time.monotonic() > deadline:
                raise Failed(f'never true: {script}; the page says: ' +
                             self.evaluate('document.body.innerText')[:2000])
            time.sleep(0.05)

    def click(self, selector):
        """As a mouse does: in the middle of what is there."""
        x, y = self.evaluate(f'''(() => {{
            const e = document.querySelector({json.dumps(selector)});
            e.scrollIntoView({{ block: 'center' }});
            const box = e.getBoundingClientRect();
            return [box.x + box.width / 2, box.y + box.height / 2];
        }})()''')
        self.mouse('mousePressed', x, y)
        self.mouse('mouseReleased', x, y)

    def mouse(self, kind, x, y):
        self.call('Input.dispatchMouseEvent', type=kind, x=x, y=y, button='left', clickCount=1)

    def touch(self, x, y):
        self.call('Input.dispatchTouchEvent', type='touchStart', touchPoints=[{'x': x, 'y': y}])
        self.call('Input.dispatchTouchEvent', type='touchEnd', touchPoints=[])

    def press(self, key, shift=False):
        text = {'Enter': '\r', ' ': ' '}.get(key)
        given = {'key': key, 'code': {' ': 'Space'}.get(key, key), 'modifiers': 8 * shift,
                 'windowsVirtualKeyCode': KEYS[key]}
        self.call('Input.dispatchKeyEvent', type='keyDown', **given,
                  **({'text': text} if text else {}))
        self.call('Input.dispatchKeyEvent', type='keyUp', **given)

    def type(self, text):
        self.call('Input.insertText', text=text)

    def choose(self, selector, *paths):
        """Has an <input type=file> hold these files."""
        node = self.call('Runtime.evaluate',
                         expression=f'document.querySelector({json.dumps(selector)})')
        self.call('DOM.setFileInputFiles', objectId=node['result']['objectId'],
                  files=[os.path.abspath(path) for path in paths])

    def downloads_into(self, folder):
        session, self.session = self.session, None
        self.call('Browser.setDownloadBehavior', behavior='allow', downloadPath=folder,
                  eventsEnabled=True, browserContextId=self.profile)
        self.session = session

    def screenshot(self, path, whole=True, **more):
        picture = self.call('Page.captureScreenshot', captureBeyondViewport=whole, **more)
        with open(path, 'wb') as f:
            f.write(base64.b64decode(picture['data']))
