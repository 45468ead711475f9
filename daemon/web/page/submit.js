// SPDX-License-Identifier: MIT
// The form: a file, how it is to be restored, and its way up.

import { get, uploadJob } from '/api.js';
import { byId, make, say, setText } from '/dom.js';
import * as format from '/format.js';
import { showJob } from '/jobs.js';

const words = (...list) => list.map((word) => [word, word.replace('_', ' ')]);

/*
 * The options, by the API's names. `list` are the values of one that is chosen, beside none, which
 * leaves it to vrtd; `as` makes of what was typed what the API takes; a `file` is sent up.
 */
const MAIN = [
    { key: 'model', label: 'Model', list: [], none: 'default', as: (name) => ({ name }) },
    { key: 'container', label: 'Container', none: 'as before', as: null,
        list: words('mp4', 'mkv', 'mov', 'webm', 'ts', 'mxf', 'gif', 'apng') },
    { key: 'codec', label: 'Codec', list: [], none: 'default' },
    { key: 'quality', label: 'Quality (CRF)', hint: 'less is better', as: Number },
    { key: 'target_size', label: 'Size of the result (MB)', as: (mb) => Math.round(mb * 1e6),
        to: 'target_size_bytes' },
];
const MORE = [
    { key: 'start_s', label: 'Begin at (s)', as: Number },
    { key: 'duration_s', label: 'For so long (s)', as: Number },
    { key: 'preset', label: 'Preset', hint: 'medium' },
    { key: 'bitrate', label: 'Bitrate (kbit/s)', as: (kbits) => Math.round(kbits * 1000) },
    { key: 'pixel_format', label: 'Pixel format', hint: 'as the input' },
    { key: 'deinterlace', label: 'Deinterlace',
        list: words('auto', 'off', 'frame', 'field', 'telecine'), none: 'auto' },
    { key: 'tonemap', label: 'HDR to SDR', list: words('off', 'hable', 'mobius', 'reinhard', 'clip'),
        none: 'off' },
    { key: 'strength', label: 'Strength (0 to 1)', as: Number },
    { key: 'scale', label: 'Size', hint: '1.5, 1080p, 1920x1080' },
    { key: 'sigma', label: 'Noise (sigma)', as: Number },
    { key: 'streams', label: 'Streams', hint: 'all, or v:0,a' },
    { key: 'device', label: 'Devices', hint: 'auto' },
    { key: 'precision', label: 'Precision', list: words('auto', 'f32', 'f16', 'bf16'), none: 'auto' },
    { key: 'tile', label: 'Tile (pixels)', as: Number },
    { key: 'priority', label: 'Priority', as: Number },
    { key: 'reference', label: 'Compare the result with', file: true, as: null },
    { key: 'strict', label: 'Damaged frames fail the job', check: true },
];

const inputs = new Map();

function makeField(option) {
    let input;
    if (option.list) {
        input = make('select', {}, make('option', { value: '', textContent: option.none }));
        fill(input, option.list);
    } else if (option.check) {
        input = make('input', { type: 'checkbox' });
    } else if (option.file) {
        input = make('input', { type: 'file' });
    } else {
        input = make('input', { type: 'text', placeholder: option.hint || '' });
        if (option.as === Number || option.to || option.key === 'bitrate')
            input.inputMode = 'decimal';
    }
    input.id = `option-${option.key}`;
    inputs.set(option.key, { option, input });
    const name = make('span', { textContent: option.label });
    return make('label', { className: option.check ? 'field check' : 'field' },
        ...(option.check ? [input, name] : [name, input]));
}

function fill(select, list) {
    select.append(...list.map(([value, text]) => make('option', { value, textContent: text })));
}

/* The name of the result: as vrtctl calls it. */
function outputName(file, container, codec) {
    const dot = file.name.lastIndexOf('.');
    const stem = dot > 0 ? file.name.slice(0, dot) : file.name;
    const ending = dot > 0 ? file.name.slice(dot + 1).toLowerCase() : '';
    const known = ['mp4', 'mkv', 'mov', 'webm', 'ts', 'mxf', 'png', 'jpg', 'jpeg', 'tif', 'tiff',
        'webp', 'exr', ...(codec ? [] : ['gif', 'apng'])];

    return `${stem}.restored.${container || (known.includes(ending) ? ending : 'mkv')}`;
}

/* The request that the form stands for. Throws what can't be a number. */
function readForm(file) {
    const request = {
        input: { name: file.name },
        output: { name: outputName(file, inputs.get('container').input.value,
            inputs.get('codec').input.value) },
    };
    for (const [key, { option, input }] of inputs) {
        input.removeAttribute('aria-invalid');
        // Some write numbers with a comma; elsewhere it stands between the parts of a list.
        const typed = option.check ? '' : input.value.trim();
        const text = input.inputMode === 'decimal' ? typed.replace(',', '.') : typed;
        if (option.check ? !input.checked : text === '' || option.as === null)
            continue;
        const value = option.check ? true : option.as ? option.as(text) : text;
        if (Number.isNaN(value)) {
            markWrong(key);
            throw new Error(`${option.label}: “${text}” is no number.`);
        }
        request[option.to || key] = value;
    }
    return request;
}

/* Shows which field is at fault, as the API names it. */
function markWrong(field) {
    for (const [key, { option, input }] of inputs) {
        if (key !== field && option.to !== field)
            continue;
        input.setAttribute('aria-invalid', 'true');
        const folded = input.closest('details');
        if (folded)
            folded.open = true;
        input.focus();
    }
}

async function fillLists() {
    const [{ models }, { codecs }] = await Promise.all([get('/v1/models'), get('/v1/codecs')]);
    fill(inputs.get('model').input, models.filter((model) => model.state === 'ready').map((model) =>
        [model.name, `${model.name}${model.scale > 1 ? ` (x${model.scale})` : ''}`]));
    fill(inputs.get('codec').input, [['auto', 'auto'], ...codecs.filter((codec) =>
        codec.available).map((codec) => [codec.name, codec.name])]);
}

/* Begins to take files. */
export function beginForm() {
    const form = byId('form'), file = byId('file'), error = byId('form-error');
    const bar = byId('upload'), uploaded = byId('uploaded'), stop = byId('stop'), go = byId('go');
    let upload = null;

    go.disabled = false;

    byId('options').append(...MAIN.map(makeField));
    byId('more').append(...MORE.map(makeField));
    fillLists().catch((e) => setText(error, e.message));

    const showFile = () => setText(byId('chosen'), file.files.length ?
        `${file.files[0].name} (${format.bytes(file.files[0].size)})` :
        'Choose a video, or drop one anywhere');
    file.addEventListener('change', showFile);

    // A file may be dropped anywhere: a browser would leave the page for it else.
    let depth = 0;
    const drag = (by) => {
        depth = by === 0 ? 0 : depth + by;
        document.body.classList.toggle('dragging', depth > 0);
    };
    document.addEventListener('dragenter', () => drag(1));
    document.addEventListener('dragleave', () => drag(-1));
    document.addEventListener('dragover', (event) => event.preventDefault());
    document.addEventListener('drop', (event) => {
        event.preventDefault();
        drag(0);
        if (!event.dataTransfer.files.length || upload)
            return;
        const reference = inputs.get('reference').input;
        (event.target === reference ? reference : file).files = event.dataTransfer.files;
        showFile();
        go.focus();
    });

    stop.addEventListener('click', () => upload && upload.abort());
    window.addEventListener('beforeunload', (event) => upload && event.preventDefault());

    form.addEventListener('submit', async (event) => {
        event.preventDefault();
        error.textContent = '';
        if (upload)
            return;
        if (!file.files.length) {
            setText(error, 'Choose a video first.');
            file.focus();
            return;
        }
        try {
            const request = readForm(file.files[0]);
            const files = { input: file.files[0] };
            const [reference] = inputs.get('reference').input.files;
            if (reference) {
                files.reference = reference;
                request.reference = { name: reference.name };
            }
            upload = new AbortController();
            go.disabled = true;
            stop.hidden = bar.hidden = false;
            const job = await uploadJob(files, request, (part) => {
                bar.value = 100 * part;
                setText(uploaded, part < 1 ? `${Math.floor(100 * part)} % sent` :
                    'sent; vrtd looks at it…');
            }, upload.signal);
            showJob(job);
            say(`${job.input_name} is job ${job.id}`);
            form.reset();
            showFile();
        } catch (e) {
            setText(error, e.message);
            if (e.field)
                markWrong(e.field.split('.')[0]);
        }
        upload = null;
        go.disabled = false;
        stop.hidden = bar.hidden = true;
        bar.value = 0;
        setText(uploaded, '');
    });
}
