#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the pictures of README.md anew, in docs/pictures/: page, top, before and after.

usage: docs/screenshots.py BUILD [NAME]...

A vrtd of BUILD's restores a natural clip (tests/bench/natural-clip.sh: a cockatoo of Debian's
python3-imageio, BSD licence), while Chromium and tmux look at it. It needs Debian's chromium, tmux
and ffmpeg. Each picture is a WebP of less than 150 kB.
"""
import html
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PICTURES = os.path.join(ROOT, 'docs', 'pictures')
CLIP = os.path.join(ROOT, 'tests', 'bench', 'natural-clip.sh')
MAX_BYTES = 150_000
COLUMNS, ROWS = 100, 22

# xterm's colours, which vrtctl uses by number.
COLOURS = ['#1b1f24', '#ff8a80', '#5fd38d', '#f2c063', '#6cb2ff', '#d7a0ff', '#6fd6d6', '#e6e9ed']

sys.path.insert(0, os.path.join(ROOT, 'tests', 'e2e', 'web'))
import chromium  # noqa: E402


def run(*command, **options):
    return subprocess.run(command, check=True, capture_output=True, text=True, **options).stdout


def to_webp(picture, name, *filters):
    """As docs/pictures/NAME.webp, of the best quality that is small enough."""
    path = os.path.join(PICTURES, name + '.webp')
    for quality in range(90, 20, -10):
        run('ffmpeg', '-v', 'error', '-y', '-i', picture, *filters, '-frames:v', '1', '-c:v',
            'libwebp', '-quality', str(quality), path)
        if os.path.getsize(path) < MAX_BYTES:
            print(f'{path}: {os.path.getsize(path)} bytes, quality {quality}')
            return
    sys.exit(f'{path} is larger than {MAX_BYTES} bytes')


class Served:
    """A vrtd with a page, and what asks it."""

    def __init__(self, build, folder):
        self.build, self.folder = build, folder
        with socket.socket() as s:
            s.bind(('127.0.0.1', 0))
            self.port = s.getsockname()[1]
        config = self.path('vrtd.conf')
        with open(config, 'w', encoding='ascii') as f:
            f.write(f'[web]\nlisten = 127.0.0.1:{self.port}\n')
        self.environment = dict(os.environ, VRTD_SOCKET=self.path('vrtd.sock'), LC_ALL='C.UTF-8')
        self.process = subprocess.Popen(
            [os.path.join(build, 'daemon', 'vrtd'), '--socket', self.path('vrtd.sock'),
             '--state-dir', self.path('state'), '--config', config], stderr=subprocess.DEVNULL)
        while not os.path.exists(self.path('vrtd.sock')):
            if self.process.poll() is not None:
                sys.exit(f'{build}: its vrtd does not start')
            time.sleep(0.1)

    def path(self, name):
        return os.path.join(self.folder, name)

    def vrtctl(self, *arguments):
        return run(os.path.join(self.build, 'client', 'vrtctl'), *arguments, env=self.environment)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()


def shoot_before_after(served, _):
    """A frame enlarged plainly, and restored: of a clip so small that it is full of detail."""
    run('bash', CLIP, clip := served.path('small.mp4'), '240', '136')
    result, picture = served.path('done.mp4'), served.path('pair.png')
    served.vrtctl('submit', '--follow', '--duration', '3', '-o', result, clip)
    jobs = served.vrtctl('list', '--all', '--json').splitlines()
    served.vrtctl('preview', str(json.loads(jobs[-1])['id']), '--at', '2', '-o', picture)
    # Of each half the middle, large enough to be seen.
    half = 'crop=iw/4:ih*3/4:{}:ih/8'
    to_webp(picture, 'before-after', '-filter_complex',
            f'split[a][b];[a]{half.format("iw/8")}[c];[b]{half.format("iw*5/8")}[d];'
            '[c][d]hstack,scale=1200:-2:flags=neighbor')


def shoot_page(served, clip):
    token = re.search(r'vrtd_[\w-]+', served.vrtctl('token', 'new', 'anna')).group()
    browser = chromium.Chromium()
    try:
        browser.size(1280, 1000)
        browser.open(f'http://127.0.0.1:{served.port}/')
        browser.evaluate("document.getElementById('token').focus()")
        browser.type(token)
        browser.press('Enter')
        for name in ('cockatoo.mp4', 'holiday.mp4'):
            link = served.path(name)
            if not os.path.exists(link):
                os.link(clip, link)
            browser.wait("document.getElementById('go')?.disabled === false")
            browser.choose('#file', link)
            browser.click('#go')
            browser.wait("[...document.querySelectorAll('#active h3')].some((e) => "
                         f"e.textContent === '{name}')")
        browser.click('#active .card [aria-expanded]')
        browser.wait("document.querySelector('#active .after img')?.naturalWidth > 0")
        # Plots want some time behind them.
        time.sleep(20)
        browser.evaluate("document.activeElement.blur(); window.scrollTo(0, 0)")
        browser.screenshot(served.path('page.png'), whole=True)
    finally:
        browser.close()
    to_webp(served.path('page.png'), 'page')
    served.vrtctl('cancel', '--all')


def to_html(text):
    """What a terminal shows, by the sequences that tmux writes: SGR alone."""
    parts, style = [], {}

    def cells(piece):
        # Fonts have their own widths for braille and blocks, terminals don't.
        return re.sub('[\u2500-\u28ff]', lambda m: f'<i>{m.group()}</i>', html.escape(piece))

    for piece in re.split(r'(\x1b\[[\d;]*m)', text):
        if not piece.startswith('\x1b'):
            css = ';'.join(f'{k}:{v}' for k, v in style.items())
            parts.append(f'<span style="{css}">{cells(piece)}</span>' if css else cells(piece))
            continue
        for code in map(int, filter(None, piece[2:-1].split(';') or ['0'])):
            if code == 0:
                style = {}
            elif code == 1:
                style['font-weight'] = 'bold'
            elif code == 2:
                style['opacity'] = '.65'
            elif code == 7:
                style.update({'background': COLOURS[7], 'color': COLOURS[0]})
            elif 30 <= code <= 37 or 90 <= code <= 97:
                style['color'] = COLOURS[code % 10]
            elif code == 39:
                style.pop('color', None)
        if piece == '\x1b[m':
            style = {}
    return ''.join(parts)


def shoot_top(served, clip):
    for name in ('cockatoo', 'holiday', 'wedding'):
        served.vrtctl('submit', '-o', served.path(f'{name}.top.mp4'), clip)
    tmux = ['tmux', '-L', f'vrtd-{os.getpid()}', '-f', '/dev/null']
    run(*tmux, 'new-session', '-d', '-x', str(COLUMNS), '-y', str(ROWS),
        os.path.join(served.build, 'client', 'vrtctl') + ' top',
        env=dict(served.environment, TERM='xterm-256color'))
    try:
        time.sleep(40)
        text = run(*tmux, 'capture-pane', '-e', '-p')
    finally:
        run(*tmux, 'kill-server')
    page = served.path('top.html')
    with open(page, 'w', encoding='utf-8') as f:
        f.write('<meta charset="utf-8"><style>i { display: inline-block; width: 1ch; height: 1.25em; '
                'overflow: hidden; vertical-align: bottom; font-style: normal }</style><body style="margin:0;background:#101418"><pre style="'
                'display:inline-block;margin:0;padding:16px;color:#e6e9ed;font:15px/1.25 '
                f'DejaVu Sans Mono,monospace">{to_html(text.rstrip())}</pre>')
    browser = chromium.Chromium()
    try:
        browser.size(1280, 800)
        browser.open('file://' + page)
        width, height = browser.evaluate("(() => { const b = document.querySelector('pre')"
                                         ".getBoundingClientRect(); return [b.width, b.height]; })()")
        browser.screenshot(served.path('top.png'), clip={'x': 0, 'y': 0, 'width': width,
                                                         'height': height, 'scale': 1})
    finally:
        browser.close()
    to_webp(served.path('top.png'), 'top')
    served.vrtctl('cancel', '--all')


SHOTS = {'before-after': shoot_before_after, 'page': shoot_page, 'top': shoot_top}


def main():
    if len(sys.argv) < 2 or sys.argv[1] in ('-h', '--help') or set(sys.argv[2:]) - set(SHOTS):
        sys.exit(__doc__.strip())
    os.makedirs(PICTURES, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix='vrtd-pictures-') as folder:
        clip = os.path.join(folder, 'clip.mp4')
        run('bash', CLIP, clip, '480', '270')
        served = Served(sys.argv[1], folder)
        try:
            for name in sys.argv[2:] or SHOTS:
                SHOTS[name](served, clip)
        finally:
            served.stop()


if __name__ == '__main__':
    main()
