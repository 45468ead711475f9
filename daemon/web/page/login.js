// SPDX-License-Identifier: MIT
'use strict';

// The token becomes the cookie of a session, which no script sees.
document.getElementById('login').addEventListener('submit', async (event) => {
    event.preventDefault();
    const error = document.getElementById('error');
    error.textContent = '';
    try {
        const answer = await fetch('/v1/session', {
            method: 'POST',
            headers: { 'Content-Type': 'application/json' },
            body: JSON.stringify({ token: document.getElementById('token').value.trim() }),
        });
        if (answer.ok)
            location.assign('/');
        else
            error.textContent = (await answer.json()).error.message;
    } catch (e) {
        error.textContent = 'vrtd does not answer: ' + e.message;
    }
});
