// SPDX-License-Identifier: MIT
// What changes, as it changes: the stream of events, begun again whenever it ends.

import { get } from '/api.js';

const WAIT_MS = 1000, WAIT_MAX_MS = 15000;

/*
 * Calls on.job and on.device with what each event holds, on.link(true) when the stream is open, by
 * which time the events of all that is have come or come soon, and on.link(false) when it is lost.
 */
export function listen(on) {
    let wait = WAIT_MS;

    function open() {
        const stream = new EventSource('/v1/events');
        stream.addEventListener('open', () => {
            wait = WAIT_MS;
            on.link(true);
        });
        stream.addEventListener('job', (event) => on.job(JSON.parse(event.data)));
        stream.addEventListener('device', (event) => on.device(JSON.parse(event.data)));
        stream.addEventListener('error', () => {
            // By ourselves, and not as often as a browser would.
            stream.close();
            on.link(false);
            setTimeout(again, wait);
            wait = Math.min(2 * wait, WAIT_MAX_MS);
        });
    }

    // An answer of 401 leads to the login; a stream doesn't tell its status.
    function again() {
        get('/v1/session').then(open, () => {
            setTimeout(again, wait);
            wait = Math.min(2 * wait, WAIT_MAX_MS);
        });
    }

    open();
}

/* Calls `act` now and every `seconds` while the page is seen. Return: a function that ends it. */
export function repeat(seconds, act) {
    let timer = null;

    function look() {
        clearInterval(timer);
        timer = null;
        if (document.hidden)
            return;
        act();
        timer = setInterval(act, 1000 * seconds);
    }
    document.addEventListener('visibilitychange', look);
    look();
    return () => {
        clearInterval(timer);
        document.removeEventListener('visibilitychange', look);
    };
}
