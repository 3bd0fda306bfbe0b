const uuid = /[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/gi;
const word = /[\p{L}\p{N}_]+/gu;
const digit = /\p{N}/u;

/** The common part of the names that one template makes: `product:#{id}`, `product:42` and `product:7c9e…` are all `product:*`. */
export const kindOfName = (name: string): string => generalized(name);

export const kindOfTemplate = (template: string): string => generalized(template.replaceAll(/#\{[^}]*\}/g, '*'));

/** Replaces values: in each part between colons, everything from the first to the last. Words with a digit (ids, dates, versions) are values. */
const generalized = (name: string): string =>
  name
    .replaceAll(uuid, '*')
    .replaceAll(word, (text) => (digit.test(text) ? '*' : text))
    .replaceAll(/\*[^:]*\*/g, '*');
