// SPDX-License-Identifier: MIT
// Elements. Text is only ever set as text: names of files come from strangers.

const SVG = 'http://www.w3.org/2000/svg';

/* An element with these properties (`dataset` and `aria` are objects), and children: elements,
 * texts, or null for none. */
export function make(tag, properties = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(properties)) {
        if (name === 'aria')
            Object.entries(value).forEach(([key, v]) => element.setAttribute(`aria-${key}`, v));
        else if (name === 'dataset')
            Object.assign(element.dataset, value);
        else
            element[name] = value;
    }
    element.append(...children.filter((child) => child !== null));
    return element;
}

export function makeSvg(tag, attributes = {}, ...children) {
    const element = document.createElementNS(SVG, tag);
    Object.entries(attributes).forEach(([name, value]) => element.setAttribute(name, value));
    element.append(...children);
    return element;
}

/* A button that does `act`, which may fail: then `failed` is told. It rests meanwhile, but isn't
 * disabled: that would take the focus away. */
export function makeButton(label, act, failed, properties = {}) {
    const button = make('button', { type: 'button', textContent: label, ...properties });
    button.addEventListener('click', async () => {
        if (button.ariaDisabled === 'true')
            return;
        button.ariaDisabled = 'true';
        try {
            await act();
        } catch (e) {
            failed(e);
        }
        button.ariaDisabled = 'false';
    });
    return button;
}

export const byId = (id) => document.getElementById(id);

/* Text that changes only where it is another: screen readers and selections stay undisturbed. */
export function setText(element, text) {
    if (element.textContent !== text)
        element.textContent = text;
}

/* Says something to those who don't see the page. */
export function say(text) {
    byId('said').textContent = text;
}
