// SPDX-License-Identifier: MIT
'use strict';

const error = document.getElementById('error');
const button = document.querySelector('button');

if (location.hash === '#ended')
    error.textContent = 'Your session has ended: log in again.';

// The token becomes the cookie of a session, which no script sees.
document.getElementById('login').addEventListener('submit', async (event) => {
    event.preventDefault();
    error.textContent = '';
    button.disabled = true;
    try {
        const answer = await fetch('/v1/session', {
            method: 'POST',
            headers: { 'Content-Type': 'application/json' },
            body: JSON.stringify({ token: document.getElementById('token').value.trim() }),
        });
        if (answer.ok) {
            // Not only to another hash, which would load nothing.
            history.replaceState(null, '', '/');
            location.reload();
            return;
        }
        error.textContent = (await answer.json()).error.message;
    } catch (e) {
        error.textContent = `vrtd does not answer: ${e.message}`;
    }
    button.disabled = false;
    document.getElementById('token').select();
});
