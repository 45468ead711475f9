// SPDX-License-Identifier: MIT
// Requests: the same API as on the socket. What it refuses is told in its own sentences.

/* What the daemon refused, and which field of the request is at fault. */
export class Refused extends Error {
    constructor(status, error) {
        super(error.message);
        this.status = status;
        this.id = error.id;
        this.field = error.field || '';
    }
}

/* The session is over: the login comes, and says so. */
function leave() {
    location.replace('/#ended');
    location.reload();
}

function refusal(status, text) {
    if (status === 401)
        leave();
    try {
        return new Refused(status, JSON.parse(text).error);
    } catch (e) {
        return new Refused(status, { message: `vrtd answered with status ${status}.` });
    }
}

/* Return: the answer's JSON. */
export async function ask(method, path, body) {
    let answer;
    try {
        answer = await fetch(path, {
            method,
            headers: body === undefined ? {} : { 'Content-Type': 'application/json' },
            body: body === undefined ? undefined : JSON.stringify(body),
        });
    } catch (e) {
        throw new Error('vrtd does not answer: is it running?');
    }
    if (!answer.ok)
        throw refusal(answer.status, await answer.text());
    return answer.status === 204 ? null : answer.json();
}

export const get = (path) => ask('GET', path);

/* All jobs that are remembered, oldest first. */
export async function listJobs() {
    const jobs = [];
    for (let after = 0; after !== null;) {
        const page = await get(`/v1/jobs?after=${after}`);
        jobs.push(...page.jobs);
        after = page.next;
    }
    return jobs;
}
