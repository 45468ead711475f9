// SPDX-License-Identifier: MIT
// Before and after, one over the other, parted by a slider: a range input, so that keys, fingers
// and mice all move it.

import { make } from '/dom.js';

/* Return: its `element`; show(), of the object URL of a picture that has both side by side, which
 * it revokes; and `end`, which frees it. */
export function makeCompare() {
    const before = make('img', { alt: 'Before', draggable: false });
    const after = make('img', { alt: 'After', draggable: false });
    const over = make('div', { className: 'half after' }, after);
    const edge = make('span', { className: 'edge', aria: { hidden: 'true' } });
    const range = make('input', {
        type: 'range', min: 0, max: 100, value: 50, step: 1,
        aria: { label: 'How much of the picture is shown as it was before' },
    });
    const stage = make('div', { className: 'stage' }, make('div', { className: 'half' }, before),
        over, make('span', { className: 'tag tag-before', textContent: 'before' }),
        make('span', { className: 'tag tag-after', textContent: 'after' }), edge, range);
    const element = make('div', { className: 'compare', hidden: true }, stage);
    let shown = '', isOver = false;

    function move() {
        over.style.clipPath = `inset(0 0 0 ${range.value}%)`;
        edge.style.left = `${range.value}%`;
        range.setAttribute('aria-valuetext', `${range.value} % before`);
    }
    range.addEventListener('input', move);
    move();

    return {
        element,
        /* When it is decoded: it doesn't flicker. */
        async show(url) {
            const next = Object.assign(new Image(), { src: url });
            try {
                await next.decode();
            } catch (e) {
                URL.revokeObjectURL(url);
                throw e;
            }
            if (isOver) {
                URL.revokeObjectURL(url);
                return;
            }
            const shape = next.naturalWidth / 2 / next.naturalHeight;
            stage.style.aspectRatio = String(shape);
            // No taller than the window, whichever way the picture stands.
            stage.style.maxWidth = `${75 * shape}vh`;
            before.src = after.src = url;
            URL.revokeObjectURL(shown);
            shown = url;
            element.hidden = false;
        },
        end() {
            isOver = true;
            URL.revokeObjectURL(shown);
        },
    };
}
