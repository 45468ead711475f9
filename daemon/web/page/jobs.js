// SPDX-License-Identifier: MIT
// The list of jobs: a card for each, which changes in its place.

import { ask, get, listJobs } from '/api.js';
import { byId, make, makeButton, say, setText } from '/dom.js';
import * as format from '/format.js';
import { makeDetails } from '/job.js';

const OVER = ['done', 'failed', 'cancelled'];
const KINDS = {
    queued: '', fetching: 'busy', running: 'busy', finishing: 'busy', paused: 'warn',
    needs_input: 'warn', disk_full: 'warn', done: 'good', failed: 'bad', cancelled: '',
};
/* What the busiest stage makes others wait for. */
const WAITS = {
    decode: 'waits for the reading', upload: 'waits for copies to devices', compute: '',
    download: 'waits for copies from devices', encode: 'waits for the writing',
};
const PAGE = 20;

const cards = new Map();
let shown = PAGE;
let told = new Set();           /* the jobs that were told of since the list was asked for last */

const isOver = (job) => OVER.includes(job.state);

/* As vrtctl says it: while devices hold something of a job, it only is about to rest. */
function stateOf(job) {
    const isHeld = job.devices.some((device) => device.shards_running > 0);
    if (job.cancelling)
        return 'cancelling';
    return job.state === 'paused' && isHeld ? 'pausing' : job.state.replace('_', ' ');
}

function factsOf(job) {
    const facts = [];
    const total = job.frames_total;

    if (job.state === 'fetching') {
        facts.push(`${format.bytes(job.fetched_bytes)} of ${format.bytes(job.fetch_bytes)}`);
    } else if (total !== null && total >= 0 && !isOver(job)) {
        facts.push(`${job.frames_done} of ${job.frames_estimated ? 'about ' : ''}` +
            format.count(total, 'frame'));
    } else if (job.frames_done > 0) {
        facts.push(format.count(job.frames_done, 'frame'));
    }
    if (job.fps !== null)
        facts.push(`${format.rate(job.fps)} fps`);
    if (job.state === 'running' && job.left_s !== null)
        facts.push(`${format.duration(job.left_s)} left`);
    if (isOver(job) && job.elapsed_s > 0)
        facts.push(`in ${format.duration(job.elapsed_s)}`);
    if (job.state === 'running' && WAITS[job.bottleneck])
        facts.push(WAITS[job.bottleneck]);
    facts.push(job.model.name ? job.model.name : '', job.devices.map((d) => d.name).join(', '));
    if (job.comparison && job.comparison.psnr_rgb !== null)
        facts.push(`PSNR ${job.comparison.psnr_rgb.toFixed(2)} dB`);
    if (job.warnings_total > 0)
        facts.push(format.count(job.warnings_total, 'warning'));
    return facts.filter((fact) => fact).join(' · ');
}

/* Asks, in a dialog. Return: whether the answer was yes. */
function ensure(text) {
    const dialog = byId('sure');

    setText(byId('sure-text'), text);
    return new Promise((resolve) => {
        dialog.returnValue = 'no';
        byId('sure-yes').onclick = () => dialog.close('yes');
        byId('sure-no').onclick = () => dialog.close('no');
        dialog.onclose = () => resolve(dialog.returnValue === 'yes');
        dialog.showModal();
    });
}

const nameOf = (job) => job.input_name || `Job ${job.id}`;

/* The buttons of a job, each with the states in which it has a sense. */
function makeActions(card) {
    const post = (verb) => async () => {
        showJob(await ask('POST', `/v1/jobs/${card.job.id}/${verb}`, {}));
        say(`${nameOf(card.job)}: ${stateOf(card.job)}`);
    };
    const failed = (e) => setText(card.error, e.message);
    const label = (what) => ({ aria: { label: `${what} ${nameOf(card.job)}` } });

    async function cancel() {
        if (await ensure(`Cancel ${nameOf(card.job)}? What is done of it is lost.`))
            showJob(await ask('DELETE', `/v1/jobs/${card.job.id}`));
    }
    async function forget() {
        await post('forget')();
        cards.delete(card.job.id);
        card.details.end();
        card.element.remove();
        byId('jobs').focus();
        arrange();
    }
    const download = make('a', { className: 'button', textContent: 'Download' });
    download.href = `/v1/jobs/${card.job.id}/output`;
    download.setAttribute('download', '');
    return [
        [download, (job) => job.state === 'done' && card.isKept],
        [makeButton('Pause', post('pause'), failed, label('Pause')), (job) => !job.cancelling &&
            ['queued', 'fetching', 'running', 'disk_full'].includes(job.state)],
        [makeButton('Resume', post('resume'), failed, label('Resume')),
            (job) => !job.cancelling && ['paused', 'disk_full', 'needs_input'].includes(job.state)],
        [makeButton('Retry', post('retry'), failed, label('Retry')),
            (job) => ['failed', 'cancelled'].includes(job.state)],
        [makeButton('Cancel', cancel, failed, label('Cancel')),
            (job) => !isOver(job) && !job.cancelling],
        [makeButton('Remove', forget, failed, label('Remove')), isOver],
    ];
}

function makeStepper(card) {
    const value = make('span');
    const step = (by) => async () => {
        showJob(await ask('PATCH', `/v1/jobs/${card.job.id}`,
            { priority: Math.max(-100, Math.min(100, card.job.priority + by)) }));
    };
    const failed = (e) => setText(card.error, e.message);
    const button = (text, by, what) => makeButton(text, step(by), failed,
        { aria: { label: `${what} the priority of ${nameOf(card.job)}` } });

    return {
        element: make('span', { className: 'stepper' }, button('−', -1, 'Lower'), value,
            button('+', 1, 'Raise')),
        show: (job) => setText(value, `priority ${job.priority}`),
    };
}

function makeCard(job) {
    const card = {
        job,
        title: make('h3'),
        state: make('span', { className: 'state' }),
        progress: make('progress', { max: 100 }),
        facts: make('p', { className: 'facts' }),
        error: make('p', { className: 'error', role: 'alert' }),
        isKept: false,              /* its result, by vrtd, to be downloaded */
        tenth: 0,
    };
    card.details = makeDetails(job.id);
    card.actions = makeActions(card);
    card.stepper = makeStepper(card);
    const toggle = make('button', {
        type: 'button', textContent: 'Details', aria: { expanded: 'false' },
    });
    toggle.setAttribute('aria-label', `Details of ${nameOf(job)}`);
    toggle.addEventListener('click', () => {
        const isOpen = card.details.toggle(card.job);
        toggle.setAttribute('aria-expanded', String(isOpen));
    });
    card.element = make('li', { className: 'card', id: `job-${job.id}` },
        make('div', { className: 'head' }, card.title, card.state), card.progress, card.facts,
        card.error, make('div', { className: 'row' }, ...card.actions.map(([button]) => button),
            card.stepper.element, toggle), card.details.element);
    return card;
}

/* Only what is told of a job at length says whether there is a result to be had. */
async function lookAtResult(card) {
    try {
        const job = await get(`/v1/jobs/${card.job.id}`);
        card.isKept = (job.result_bytes ?? null) !== null;
        if (card.isKept)
            update(card, card.job);
    } catch (e) {
        setText(card.error, e.message);
    }
}

/* Says what those who only listen should know: ends, and every tenth. */
function announce(card, before) {
    const job = card.job, tenth = Math.floor((job.percent || 0) / 10);

    if (before && before.state !== job.state)
        say(`${nameOf(job)}: ${stateOf(job)}`);
    else if (job.state === 'running' && tenth > card.tenth)
        say(`${nameOf(job)}: ${10 * tenth} %, ${format.duration(job.left_s)} left`);
    card.tenth = tenth;
}

function update(card, job) {
    const before = card.job, hadFocus = document.activeElement;

    card.job = job;
    setText(card.title, job.input_name || `Job ${job.id} of ${job.owner || 'another user'}`);
    setText(card.state, stateOf(job));
    card.state.dataset.kind = KINDS[job.state] || '';
    card.progress.hidden = isOver(job);
    card.progress.setAttribute('aria-label', `Progress of ${nameOf(job)}`);
    if (job.percent === null)
        card.progress.removeAttribute('value');
    else
        card.progress.value = job.percent;
    setText(card.facts, `#${job.id} · ${factsOf(job)}`);
    if (job.error || before.error)
        setText(card.error, job.error ? job.error.message : '');
    for (const [button, isFor] of card.actions)
        button.hidden = !(job.input_name !== null && isFor(job));
    card.stepper.element.hidden = isOver(job) || job.input_name === null;
    card.stepper.show(job);
    card.details.update(job);
    // A button that goes while it has the focus would take it along.
    if (hadFocus && hadFocus.hidden && card.element.contains(hadFocus))
        card.element.querySelector('.row > :not([hidden])').focus();
    announce(card, before === job ? null : before);
}

/* What runs goes before what waits, in the order in which it will start, and that before the rest;
 * of what is over the newest comes first. */
const RANKS = ['finishing', 'running', 'fetching', 'queued'];

function compareJobs(a, b) {
    const rank = (job) => (RANKS.indexOf(job.state) + 1 || RANKS.length + 1);

    if (isOver(a) && isOver(b))
        return b.id - a.id;
    return rank(a) - rank(b) || b.priority - a.priority || a.id - b.id;
}

/* Puts each card where it belongs; only those that stand elsewhere are moved. */
function arrange() {
    const all = [...cards.values()].sort((a, b) => compareJobs(a.job, b.job));
    const groups = [[byId('active'), all.filter((card) => !isOver(card.job))],
        [byId('over'), all.filter((card) => isOver(card.job)).slice(0, shown)]];
    const nOver = all.length - groups[0][1].length;

    for (const [list, members] of groups) {
        members.forEach((card, i) => {
            if (list.children[i] !== card.element) {
                const hadFocus = card.element.contains(document.activeElement) ?
                    document.activeElement : null;
                list.insertBefore(card.element, list.children[i] || null);
                if (hadFocus)
                    hadFocus.focus();
            }
        });
        while (list.children.length > members.length)
            list.lastChild.remove();
    }
    byId('no-jobs').hidden = all.length > 0;
    byId('over-title').hidden = nOver === 0;
    byId('older').hidden = nOver <= shown;
}

/* A job as an event or an answer tells it. */
export function showJob(job) {
    let card = cards.get(job.id);
    const before = card && card.job;

    told.add(job.id);
    if (!card) {
        card = makeCard(job);
        cards.set(job.id, card);
    }
    update(card, job);
    if (job.state === 'done' && job.input_name !== null && (!before || before.state !== 'done'))
        lookAtResult(card);
    if (!before || before.state !== job.state || before.priority !== job.priority)
        arrange();
}

/* All of them, anew: those that aren't told of are gone. What was told of a job while the list came
 * is newer than that. */
export async function loadJobs() {
    const error = byId('jobs-error'), since = new Set();

    told = since;
    try {
        const jobs = await listJobs(), there = new Set(jobs.map((job) => job.id));
        for (const [id, card] of cards) {
            if (there.has(id) || since.has(id))
                continue;
            cards.delete(id);
            card.details.end();
        }
        jobs.filter((job) => !since.has(job.id)).forEach(showJob);
        arrange();
        error.textContent = '';
    } catch (e) {
        error.textContent = e.message;
    }
}

export function beginJobs() {
    byId('older').addEventListener('click', () => {
        shown += PAGE;
        arrange();
    });
}
