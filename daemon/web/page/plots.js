// SPDX-License-Identifier: MIT
// Curves over time, as SVG: what is drawn is drawn anew whenever it changed.

import { make, makeSvg, setText } from '/dom.js';

const WIDTH = 300, HEIGHT = 64;

/* The path through the points of `ys` that are known; with `floor` the area below it. */
function path(xs, ys, scale, floor) {
    const parts = [];
    let begun = null, last = null;

    const end = () => {
        if (begun !== null && floor)
            parts.push(`L${last} ${HEIGHT}L${begun} ${HEIGHT}Z`);
        begun = null;
    };
    xs.forEach((x, i) => {
        if (ys[i] === null || ys[i] === undefined) {
            end();
            return;
        }
        last = scale.x(x);
        parts.push(`${begun === null ? 'M' : 'L'}${last} ${scale.y(ys[i])}`);
        if (begun === null)
            begun = last;
    });
    end();
    return parts.join('');
}

/*
 * A plot: `title`; `format` of a value; `names` of the curves, of which the first is filled; `top`
 * of the scale at least; `when` of an x. Return: its `element`, and draw(xs, curves, begin, end),
 * where curves holds an array of values for each name, null for what isn't known.
 */
export function makePlot({ title, format, names = [''], top = 0, when = null }) {
    const now = make('span', { className: 'now' }), most = make('span', { className: 'most' });
    const curves = names.map((_, i) => makeSvg('path', { class: `curve curve-${i}` }));
    const area = makeSvg('path', { class: 'area' });
    const cursor = makeSvg('line', { class: 'cursor', y1: 0, y2: HEIGHT, visibility: 'hidden' });
    const svg = makeSvg('svg', {
        viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: 'none', role: 'img',
    }, area, ...curves, cursor);
    const element = make('figure', { className: 'plot' },
        make('figcaption', {}, make('span', { textContent: title }), most, now), svg);
    let drawn = { xs: [], curves: names.map(() => []), begin: 0, end: 1 };

    /* Of the curves that there are. */
    const values = (i) => names.map((name, c) => {
        const value = drawn.curves[c][i];
        return c > 0 && value === undefined ? '' :
            `${name ? `${name} ` : ''}${format(value === undefined ? null : value)}`;
    }).filter((text) => text).join(' · ');

    function showLast() {
        let i = drawn.xs.length - 1;
        while (i > 0 && drawn.curves[0][i] === null)
            i--;
        cursor.setAttribute('visibility', 'hidden');
        setText(now, i < 0 ? '' : values(i));
    }

    svg.addEventListener('pointermove', (event) => {
        const box = svg.getBoundingClientRect();
        const x = drawn.begin + (event.clientX - box.left) / box.width * (drawn.end - drawn.begin);
        let near = 0;
        drawn.xs.forEach((at, i) => {
            if (Math.abs(at - x) < Math.abs(drawn.xs[near] - x))
                near = i;
        });
        if (!drawn.xs.length)
            return;
        const at = (drawn.xs[near] - drawn.begin) / (drawn.end - drawn.begin || 1) * WIDTH;
        cursor.setAttribute('x1', at);
        cursor.setAttribute('x2', at);
        cursor.setAttribute('visibility', 'visible');
        setText(now, `${when ? `${when(drawn.xs[near])}: ` : ''}${values(near)}`);
    });
    svg.addEventListener('pointerleave', showLast);

    function draw(xs, ys, begin, end) {
        const known = ys.flat().filter((y) => y !== null && y !== undefined);
        const high = Math.max(top, ...known);
        const scale = {
            x: (x) => ((x - begin) / (end - begin || 1) * WIDTH).toFixed(1),
            y: (y) => (HEIGHT - 1 - y / (high || 1) * (HEIGHT - 4)).toFixed(1),
        };
        drawn = { xs, curves: ys, begin, end };
        area.setAttribute('d', path(xs, ys[0], scale, true));
        curves.forEach((curve, i) => curve.setAttribute('d', path(xs, ys[i], scale, false)));
        setText(most, known.length ? `up to ${format(Math.max(...known))}` : '');
        if (cursor.getAttribute('visibility') === 'hidden')
            showLast();
        svg.setAttribute('aria-label', known.length ?
            `${title}: now ${now.textContent}, at most ${format(Math.max(...known))}` :
            `${title}: nothing is known yet`);
    }

    return { element, draw };
}

/* Points of a job's history as `n` even ones at most: rates are frames by time, and so right
 * however many points become one. Return: { xs, fps, memory }. */
export function resample(points, n) {
    const end = points.length ? points[points.length - 1].elapsed_s : 0;
    const xs = [], fps = [], memory = [];
    let from = { elapsed_s: 0, frames: 0 }, most = null;

    points.forEach((point, i) => {
        if (point.memory_bytes !== null)
            most = Math.max(most || 0, point.memory_bytes);
        if (point.elapsed_s - from.elapsed_s < end / n && i + 1 < points.length)
            return;
        const lasted = point.elapsed_s - from.elapsed_s;
        if (lasted <= 0)
            return;
        // What is left over at the end is too short to say anything.
        if (lasted < end / n / 2 && xs.length)
            return;
        xs.push(point.elapsed_s);
        fps.push((point.frames - from.frames) / lasted);
        memory.push(most);
        from = point;
        most = null;
    });
    return { xs, fps, memory };
}
