type Attribute = string | number | boolean | undefined | (() => unknown);
type Child = Node | string | undefined | false;

/** An element with attributes and children. A function among the attributes listens: `onclick`. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Readonly<Record<string, Attribute>> = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') element.addEventListener(name.slice(2), () => void value());
    else if (value === true) element.setAttribute(name, '');
    else if (value !== undefined && value !== false) element.setAttribute(name, String(value));
  }
  for (const child of children) if (child !== undefined && child !== false) element.append(child);
  return element;
}

/** Writes only what has changed, so that a screen reader hears it once and the page is laid out again only when it must. */
export function write(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

export function mark(element: Element, name: string, value: string | boolean | undefined): void {
  if (value === undefined || value === false) {
    if (element.hasAttribute(name)) element.removeAttribute(name);
  } else {
    const wanted = value === true ? '' : value;
    if (element.getAttribute(name) !== wanted) element.setAttribute(name, wanted);
  }
}

/** As many children as there are items, each updated in place. */
export function fill<T>(
  parent: Element,
  items: readonly T[],
  make: () => HTMLElement,
  update: (element: HTMLElement, item: T) => void,
): void {
  while (parent.children.length > items.length) parent.lastElementChild!.remove();
  while (parent.children.length < items.length) parent.append(make());
  items.forEach((item, index) => update(parent.children[index] as HTMLElement, item));
}
