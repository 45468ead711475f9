// SPDX-License-Identifier: MIT
// What there is to see of one job, while somebody looks: plots, a frame before and after, warnings.

import { get, previewOf } from '/api.js';
import { makeCompare } from '/compare.js';
import { make, setText } from '/dom.js';
import * as format from '/format.js';
import { repeat } from '/live.js';
import { makePlot, resample } from '/plots.js';

const PREVIEW_S = 3, HISTORY_S = 60, PLOT_POINTS = 60;

function describe(job) {
    const { recipe, video } = job;
    const facts = [];

    if (video)
        facts.push(`${video.width}×${video.height} ${video.codec || ''} to ` +
            `${video.output_width}×${video.output_height}`);
    if (recipe)
        facts.push(`${recipe.codec || ''}${recipe.quality !== null ? ` ${recipe.quality}` : ''}`,
            recipe.precision || '', `clips of ${format.count(recipe.clip_frames, 'frame')}`);
    if (recipe && video && (recipe.tile_width < video.width || recipe.tile_height < video.height))
        facts.push(`tiles of ${recipe.tile_width}×${recipe.tile_height}`);
    facts.push(`queued ${format.time(job.created_at)}`);
    if (job.finished_at)
        facts.push(`ended ${format.time(job.finished_at)}`);
    return facts.filter((fact) => fact.trim()).join(' · ');
}

/* The part of a card that is folded away. `toggle` opens and closes it, and tells which. */
export function makeDetails(id) {
    const at = (x) => `at ${format.duration(x)}`;
    const speed = makePlot({ title: 'Frames/s', format: format.rate, when: at });
    const memory = makePlot({ title: 'Memory of its devices', format: format.bytes, when: at });
    const compare = makeCompare();
    const facts = make('p', { className: 'facts' });
    const warnings = make('ul', { className: 'warnings' });
    const error = make('p', { className: 'error' });
    const element = make('div', { className: 'more', hidden: true }, facts, compare.element,
        make('div', { className: 'plots' }, speed.element, memory.element), warnings, error);
    let points = [], ends = [], nWarnings = -1, state = '', isMine = false, isLooking = false;

    function draw() {
        const { xs, fps, memory: bytes } = resample(points, PLOT_POINTS);
        const end = points.length ? points[points.length - 1].elapsed_s : 1;
        speed.draw(xs, [fps], 0, end);
        memory.draw(xs, [bytes], 0, end);
    }

    async function loadAll() {
        try {
            const [job, history] = await Promise.all([
                get(`/v1/jobs/${id}`), get(`/v1/jobs/${id}/history`)]);
            setText(facts, describe(job));
            warnings.replaceChildren(...job.warnings.map((text) => make('li', { textContent: text })));
            points = history.points;
            draw();
            error.textContent = '';
        } catch (e) {
            error.textContent = e.message;
        }
    }

    async function lookAtFrame() {
        if (!isMine || isLooking || state !== 'running')
            return;
        isLooking = true;
        try {
            const url = await previewOf(id);
            if (url)
                await compare.show(url);
            error.textContent = '';
        } catch (e) {
            error.textContent = e.message;
        }
        isLooking = false;
    }

    /* What an event tells goes on where the history ended. */
    function append(job) {
        const last = points.length ? points[points.length - 1] : { elapsed_s: 0, frames: 0 };
        const frames = job.frames_done + (job.frames_underway || 0);
        const held = job.devices.map((d) => (d.workspace_bytes || 0) + (d.replica_bytes || 0));
        if (!(job.elapsed_s > last.elapsed_s) || frames < last.frames)
            return;
        points.push({
            elapsed_s: job.elapsed_s, frames,
            memory_bytes: held.length ? held.reduce((a, b) => a + b) : null,
        });
        draw();
    }

    function end() {
        ends.forEach((f) => f());
        ends = [];
    }

    return {
        element,
        toggle(job) {
            element.hidden = !element.hidden;
            isMine = job.input_name !== null;
            state = job.state;
            nWarnings = job.warnings_total;
            end();
            if (!element.hidden)
                ends = [repeat(HISTORY_S, loadAll), repeat(PREVIEW_S, lookAtFrame)];
            return !element.hidden;
        },
        update(job) {
            if (element.hidden)
                return;
            const isNews = job.warnings_total !== nWarnings || job.state !== state;
            nWarnings = job.warnings_total;
            state = job.state;
            if (isNews)
                loadAll();
            else
                append(job);
        },
        end() {
            end();
            compare.end();
        },
    };
}
