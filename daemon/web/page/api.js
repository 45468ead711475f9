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

async function load(path, options = {}) {
    try {
        return await fetch(path, options);
    } catch (e) {
        throw new Error('vrtd does not answer: is it running?');
    }
}

/* Return: the answer's JSON. */
export async function ask(method, path, body) {
    const answer = await load(path, {
        method,
        headers: body === undefined ? {} : { 'Content-Type': 'application/json' },
        body: body === undefined ? undefined : JSON.stringify(body),
    });
    if (!answer.ok)
        throw refusal(answer.status, await answer.text());
    return answer.status === 204 ? null : answer.json();
}

export const get = (path) => ask('GET', path);

/* A frame of a running job before and after, side by side, as an object URL, which the caller
 * revokes; null: there is none. */
export async function previewOf(id) {
    const answer = await load(`/v1/jobs/${id}/preview`);
    if (answer.status === 404)
        return null;
    if (!answer.ok)
        throw refusal(answer.status, await answer.text());
    return URL.createObjectURL(await answer.blob());
}

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

/* Sends a file; `progress` is told the part that is through, 0 to 1. Unlike fetch() an
 * XMLHttpRequest can tell. `signal` ends it. Return: the answer's JSON. */
export function send(method, path, file, progress, signal) {
    return new Promise((resolve, reject) => {
        const request = new XMLHttpRequest();
        request.open(method, path);
        request.upload.addEventListener('progress', (event) => {
            if (event.lengthComputable)
                progress(event.loaded / event.total);
        });
        request.addEventListener('load', () => {
            if (request.status < 300)
                resolve(JSON.parse(request.responseText || 'null'));
            else
                reject(refusal(request.status, request.responseText));
        });
        request.addEventListener('error', () => reject(new Error(
            'The upload broke off: vrtd ended the connection, or does not answer.')));
        request.addEventListener('abort', () => reject(new Error('The upload was cancelled.')));
        signal.addEventListener('abort', () => request.abort());
        request.setRequestHeader('Content-Type', 'application/octet-stream');
        request.send(file);
    });
}

/* The uploads that no job has taken, by their files: what is refused for another reason needn't come
 * up again. */
const waiting = new Map();

/* Makes a job of files, by what they are to it, as `request` says. Return: the job. */
export async function uploadJob(files, request, progress, signal) {
    const given = Object.entries(files);
    const total = given.reduce((sum, [, file]) => sum + file.size, 0);

    for (const [file, id] of waiting) {
        if (given.some(([, wanted]) => wanted === file))
            continue;
        // It goes by itself, too, after an hour.
        ask('DELETE', `/v1/uploads/${id}`).catch(() => {});
        waiting.delete(file);
    }
    for (let triesLeft = given.length; ; triesLeft--) {
        const asked = { ...request };
        let before = 0;
        for (const [role, file] of given) {
            const sent = before;
            if (!waiting.has(file)) {
                const { id } = await send('POST', '/v1/uploads', file,
                    (part) => progress((sent + part * file.size) / total), signal);
                waiting.set(file, id);
            }
            asked[role] = { ...request[role], upload: waiting.get(file) };
            before += file.size;
        }
        try {
            const job = await ask('POST', '/v1/jobs', asked);
            waiting.clear();
            return job;
        } catch (e) {
            if (e.id !== 'upload.not_found' || triesLeft === 0)
                throw e;
            waiting.delete(files[e.field.split('.')[0]]);
        }
    }
}
