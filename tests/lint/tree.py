# SPDX-License-Identifier: MIT
"""The tree, for what looks at all of it."""
import os


def sources(root, tops, endings):
    """Path within root and text of each file below these folders that ends so."""
    for top in tops:
        for folder, _, names in os.walk(os.path.join(root, top)):
            for name in sorted(names):
                if name.endswith(endings):
                    path = os.path.join(folder, name)
                    with open(path, encoding='utf-8') as f:
                        yield os.path.relpath(path, root), f.read()


def report(problems, n, summary):
    """Says what is wrong, or the summary. Return: the exit status; nothing seen is wrong, too."""
    print('\n'.join(problems) or summary)
    return 1 if problems or not n else 0
