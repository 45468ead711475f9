# SPDX-License-Identifier: MIT
"""What the videos of the torture are made with.

A case is a dict: name; make: shell commands that end with a file `input`; output: an ending;
warns: parts of the warnings that must come, and no others may; refused: a part of the sentence
that refuses it; and what judge.judge() is given.
"""
import os

CASES = []
GROUP = ['']

# Groups of cases that are much alike.
MANY = ('containers', 'sounds', 'rates', 'formats', 'alphas', 'colours', 'codecs', 'streams',
        'excerpts', 'light')

FFMPEG = 'ffmpeg -v error -nostdin -y '
PICTURE = '-f lavfi -i testsrc2=size=64x48:rate=25'
SOUND = '-f lavfi -i sine=frequency=440:sample_rate=48000'
X264 = '-c:v libx264 -preset ultrafast -pix_fmt yuv420p'
FRAMES = '-frames:v 12'

HERE = os.path.dirname(os.path.abspath(__file__))
SEI = f'python3 {os.path.join(HERE, "sei.py")} '

# Of what `cat` joins, the demuxer takes the last packet before for damaged.
CONCEALED = 'damaged frame'


def case(name, source, make, output='.mkv', **more):
    """`make`: an ffmpeg command line without its program and output, or a list of shell commands
    that make `source`."""
    if isinstance(make, str):
        make = [f'{FFMPEG}{make} {source}']
    CASES.append({'group': GROUP[0], 'name': name, 'input': source, 'make': make,
                  'output': output, 'warns': (),
                  'refused': None, **more})


TEXT = r"printf '1\n00:00:00,100 --> 00:00:00,300\nfirst\n\n2\n00:00:00,300 --> 00:00:00,480\n" \
       r"second\n' > in.srt"
