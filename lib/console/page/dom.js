/**
 * The element with this id.
 * @param {string} id
 * @returns {HTMLElement}
 */
export function byId(id) {
  return /** @type {HTMLElement} */ (document.getElementById(id));
}

/**
 * A copy of a template's only element.
 * @param {string} id
 * @returns {HTMLElement}
 */
export function fromTemplate(id) {
  const content = /** @type {HTMLTemplateElement} */ (document.getElementById(id)).content;
  return /** @type {HTMLElement} */ (document.importNode(content, true).firstElementChild);
}

/**
 * The part of an element that has this name, but of no list inside it.
 * @param {HTMLElement} element
 * @param {string} name
 * @returns {HTMLElement}
 */
export function part(element, name) {
  return /** @type {HTMLElement} */ (element.querySelector('[data-part="' + name + '"]'));
}

/**
 * Shows a text: never as markup, and only when it has changed, so that a selection stays. Control and direction marks are made visible.
 * @param {HTMLElement} element
 * @param {string} text
 */
export function write(element, text) {
  const shown = visible(text);
  if (element.textContent !== shown) element.textContent = shown;
}

/** @param {string} text */
export function visible(text) {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) => {
    const code = (character.codePointAt(0) ?? 0).toString(16);
    return '\\u{' + code + '}';
  });
}

/**
 * The same, and hides the element where there is no text.
 * @param {HTMLElement} element
 * @param {string} text
 */
export function writeOrHide(element, text) {
  element.hidden = text === '';
  write(element, text);
}

/**
 * The text for a word that may be any text.
 * @template T
 * @param {Readonly<Record<string, T>>} texts
 * @param {string} word
 */
export function textOf(texts, word) {
  return Object.hasOwn(texts, word) ? texts[word] : undefined;
}

/** @type {WeakMap<Element, Map<string, HTMLElement>>} */
const children = new WeakMap();

/**
 * Makes the children of a list those of the items, in their order. The element of an item stays: with it the focus, and what is selected.
 * @template T
 * @param {HTMLElement} list
 * @param {readonly T[]} items
 * @param {(item: T) => string} keyOf
 * @param {(item: T) => HTMLElement} create
 * @param {(element: HTMLElement, item: T, index: number) => void} update
 */
export function sync(list, items, keyOf, create, update) {
  const before = children.get(list) ?? new Map();
  const focused = document.activeElement;
  /** @type {Map<string, HTMLElement>} */
  const after = new Map();
  for (const item of items) {
    let key = keyOf(item);
    while (after.has(key)) key += ' again';
    after.set(key, before.get(key) ?? create(item));
  }
  // First, so that those that stay are not moved.
  for (const [key, element] of before) if (!after.has(key)) element.remove();
  [...after.values()].forEach((element, index) => {
    update(element, /** @type {T} */ (items[index]), index);
    if (list.children[index] !== element) list.insertBefore(element, list.children[index] ?? null);
  });
  children.set(list, after);
  // An element that is moved loses the focus.
  if (focused instanceof HTMLElement && focused !== document.activeElement && list.contains(focused))
    focused.focus({ preventScroll: true });
}

/**
 * A duration, short enough for a table.
 * @param {number} ms
 */
export function duration(ms) {
  if (ms === Number.POSITIVE_INFINITY) return 'no end';
  const seconds = Math.max(0, ms) / 1000;
  if (seconds < 1) return Math.round(Math.max(0, ms) / 10) * 10 + ' ms';
  if (seconds < 10) return Number(seconds.toFixed(1)) + ' s';
  if (seconds < 60) return Math.floor(seconds) + ' s';
  if (seconds < 3600) return Math.floor(seconds / 60) + ' min ' + Math.floor(seconds % 60) + ' s';
  const hours = Math.floor(seconds / 3600);
  if (hours < 48) return hours + ' h ' + Math.floor((seconds % 3600) / 60) + ' min';
  return Math.floor(hours / 24) + ' d ' + (hours % 24) + ' h';
}

/** What goes on by itself between two answers. @type {Map<HTMLElement, () => void>} */
const running = new Map();

/**
 * Shows a time that grows, or shrinks, until the next call.
 * @param {HTMLElement} element
 * @param {number} ms now
 * @param {1 | -1} direction
 * @param {string} [before] text in front
 */
export function runTime(element, ms, direction = 1, before = '') {
  const since = performance.now();
  run(element, () => write(element, before + duration(ms + direction * (performance.now() - since))));
}

/** @param {HTMLElement} element @param {() => void} show called now, and again and again while the element is there */
export function run(element, show) {
  running.set(element, show);
  show();
}

export function tick() {
  for (const [element, show] of running) {
    if (element.isConnected) show();
    else running.delete(element);
  }
}

/** Times stand still: they are those of the last answer. */
export function freeze() {
  running.clear();
}

/**
 * How full a bar is. Set by the object model: the policy of the page allows no style attribute.
 * @param {HTMLElement} bar
 * @param {number} portion from 0 to 1
 */
export function fill(bar, portion) {
  bar.style.inlineSize = Math.round(1000 * Math.min(1, Math.max(0, portion))) / 10 + '%';
}

/**
 * @param {number} count
 * @param {string} one
 * @param {string} [many]
 */
export function counted(count, one, many = one + 's') {
  return count.toLocaleString('en') + ' ' + (count === 1 ? one : many);
}
