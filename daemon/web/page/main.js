// SPDX-License-Identifier: MIT
// The page: who looks, what is there, what changes.

import { ask, get } from '/api.js';
import { beginDevices, showDevice } from '/devices.js';
import { byId, setText } from '/dom.js';
import { beginJobs, loadJobs, showJob } from '/jobs.js';
import { listen } from '/live.js';
import { beginForm } from '/submit.js';

function showLink(isUp) {
    byId('link').classList.toggle('lost', !isUp);
    setText(byId('link'), isUp ? 'live' : 'vrtd does not answer: trying again…');
}

byId('logout').addEventListener('click', async () => {
    try {
        // What is under way would be refused, and look as if the session had ended by itself.
        window.stop();
        await ask('DELETE', '/v1/session');
        location.reload();
    } catch (e) {
        setText(byId('link'), e.message);
    }
});

const session = await get('/v1/session');
setText(byId('user'), session.user || session.name || '');
beginJobs();
beginDevices();
beginForm();
listen({
    job: showJob,
    device: showDevice,
    link(isUp) {
        showLink(isUp);
        // What ended or went meanwhile has no event.
        if (isUp)
            loadJobs();
    },
});
