// SPDX-License-Identifier: MIT
'use strict';

const rows = new Map();

function showJob(job) {
    let row = rows.get(job.id);
    if (!row) {
        row = document.getElementById('jobs').insertRow(0);
        for (let i = 0; i < 4; i++)
            row.insertCell();
        rows.set(job.id, row);
    }
    const cells = [job.id, job.input_name || '', job.state,
        job.percent === null ? '' : job.percent.toFixed(1) + ' %'];
    cells.forEach((text, i) => { row.cells[i].textContent = text; });
}

async function begin() {
    const answer = await fetch('/v1/session');
    if (!answer.ok) {
        location.assign('/');
        return;
    }
    document.getElementById('user').textContent = (await answer.json()).user;
    const list = await (await fetch('/v1/jobs')).json();
    list.jobs.forEach(showJob);
    const events = new EventSource('/v1/events');
    events.addEventListener('job', (event) => showJob(JSON.parse(event.data)));
}

document.getElementById('logout').addEventListener('click', async () => {
    await fetch('/v1/session', { method: 'DELETE' });
    location.assign('/');
});

begin().catch((e) => { document.getElementById('error').textContent = e.message; });
