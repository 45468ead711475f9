// SPDX-License-Identifier: MIT
// Devices: how they are, and plots of the last ten minutes.

import { get } from '/api.js';
import { byId, make, setText } from '/dom.js';
import * as format from '/format.js';
import { repeat } from '/live.js';
import { makePlot } from '/plots.js';

const LOOK_S = 4, POINTS_MAX = 300;
const KINDS = { ready: 'good', busy: 'busy', starting: '', lost: 'bad', quarantined: 'bad' };

const cards = new Map();
let period = 2, last = 0;

function makeCard(name) {
    const ago = (x) => `${format.duration(-x)} ago`;
    const card = {
        title: make('h3', { textContent: name }),
        state: make('span', { className: 'state' }),
        facts: make('p', { className: 'facts' }),
        error: make('p', { className: 'error' }),
        points: [],
        total: 0,
        speed: makePlot({ title: 'Frames/s', format: format.rate, when: ago }),
        busy: makePlot({
            title: 'In use', format: format.percent, names: ['', 'driver'], top: 100, when: ago,
        }),
        memory: makePlot({
            title: 'Memory', format: format.bytes, names: ['all', 'vrtd'], when: ago,
        }),
    };
    card.element = make('li', { className: 'card' },
        make('div', { className: 'head' }, card.title, card.state), card.facts, card.error,
        make('div', { className: 'plots' }, card.speed.element, card.busy.element,
            card.memory.element));
    byId('device-list').append(card.element);
    return card;
}

export function showDevice(device) {
    if (!cards.has(device.name))
        cards.set(device.name, makeCard(device.name));
    const card = cards.get(device.name), { memory, sensors } = device;
    card.total = memory.total_bytes || 0;
    setText(card.state, device.state);
    card.state.dataset.kind = KINDS[device.state] || '';
    const facts = [device.description];
    if (memory.total_bytes !== null)
        facts.push(`${format.bytes(memory.total_bytes)} of memory`);
    if (device.shards_done > 0)
        facts.push(`${format.count(device.shards_done, 'shard')} done`);
    if (sensors && sensors.temperature_celsius !== null)
        facts.push(`${Math.round(sensors.temperature_celsius)} °C`);
    if (sensors && sensors.power_watts !== null)
        facts.push(`${Math.round(sensors.power_watts)} W`);
    if (device.retry_in_s !== null)
        facts.push(`tried again in ${format.duration(device.retry_in_s)}`);
    setText(card.facts, facts.join(' · '));
    // What failed once and works again is history.
    setText(card.error, KINDS[device.state] === 'bad' && device.last_error || '');
    byId('no-devices').hidden = true;
}

/* The rate of a shard is known when it is done: what came before that comes once more. */
function lastSettled() {
    let open = 0;
    for (const card of cards.values()) {
        let n = 0;
        while (n < card.points.length && card.points[card.points.length - 1 - n].fps === null)
            n++;
        open = Math.max(open, n);
    }
    return Math.max(last - open, 0);
}

function draw(card) {
    const points = card.points, n = points.length;
    const xs = points.map((_, i) => (i - n + 1) * period);
    const begin = -(POINTS_MAX - 1) * period;
    const pick = (key) => points.map((point) => point[key]);
    const hasSensors = points.some((point) => point.utilization_percent !== null);

    card.speed.draw(xs, [pick('fps')], begin, 0);
    card.busy.draw(xs, [pick('busy_percent'), hasSensors ? pick('utilization_percent') : []],
        begin, 0);
    card.memory.draw(xs, [pick('used_bytes'), pick('held_bytes')], begin, 0);
}

async function look() {
    const after = lastSettled();
    const history = await get(`/v1/devices/history?after=${after}`);
    // Another daemon by now: its points are others.
    const isAnother = history.last < last;
    period = history.period_s;
    for (const { name, points } of history.devices) {
        const card = cards.get(name);
        if (!card)
            continue;
        const kept = isAnother ? [] : card.points.slice(0, card.points.length - (last - after));
        card.points = kept.concat(points).slice(-POINTS_MAX);
        draw(card);
    }
    last = isAnother ? 0 : history.last;
}

/* Lists them, and draws them as long as the page is seen. */
export function beginDevices() {
    const error = byId('devices-error');

    async function loadAll() {
        const { devices } = await get('/v1/devices');
        devices.forEach(showDevice);
        byId('no-devices').hidden = devices.length > 0;
    }
    let begun = loadAll();
    repeat(LOOK_S, async () => {
        try {
            await begun;
            await look();
            error.textContent = '';
        } catch (e) {
            error.textContent = e.message;
            begun = loadAll();
            begun.catch(() => {});
        }
    });
}
