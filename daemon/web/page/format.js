// SPDX-License-Identifier: MIT
// Numbers as people read them: as vrtctl has them. What nobody knows is "-".

export function bytes(n) {
    if (n === null || n === undefined)
        return '-';
    let unit = 'B';
    for (const next of ['KiB', 'MiB', 'GiB', 'TiB', 'PiB']) {
        if (n < 1023.5)
            break;
        n /= 1024;
        unit = next;
    }
    return `${unit !== 'B' && n < 9.95 ? n.toFixed(1) : Math.round(n)} ${unit}`;
}

export function duration(seconds) {
    if (seconds === null || seconds === undefined || !(seconds < 1e12))
        return '-';
    const s = Math.round(seconds), two = (n) => String(n).padStart(2, '0');
    const days = Math.floor(s / 86400), hours = Math.floor(s / 3600) % 24;
    const rest = `${two(Math.floor(s / 60) % 60)}:${two(s % 60)}`;
    if (days)
        return `${days} d ${hours}:${rest}`;
    return hours ? `${hours}:${rest}` : `${Math.floor(s / 60)}:${two(s % 60)}`;
}

export function rate(fps) {
    if (fps === null || fps === undefined)
        return '-';
    return fps > 0 && fps < 0.0995 ? fps.toFixed(3) : fps > 0 && fps < 99.95 ? fps.toFixed(1) :
        fps.toFixed(0);
}

export const percent = (n) => (n === null || n === undefined ? '-' : `${Math.round(n)} %`);

export const time = (text) => (text ? new Date(text).toLocaleString() : '-');

/* "1 frame", "5 frames". */
export const count = (n, noun) => `${n} ${noun}${n === 1 ? '' : 's'}`;
