const uuid = /[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/gi;
/** Of a part between colons: from the first to the last word with a digit. */
const values = /(?<![\p{L}\p{N}_])[\p{L}_]*\p{N}(?:[^:]*\p{N})?[\p{L}\p{N}_]*/gu;

/** The common part of the names that one template makes: `product:#{id}`, `product:42` and `product:7c9e…` are all `product:*`. */
export const kindOfName = (name: string): string => generalized(name);

export const kindOfTemplate = (template: string): string => generalized(template.replaceAll(/#\{[^}]*\}/g, '*'));

/** Replaces values: in each part between colons, everything from the first to the last. Words with a digit (ids, dates, versions) are values. */
const generalized = (name: string): string =>
  name
    .replaceAll(uuid, '*')
    .replaceAll(values, '*')
    .replaceAll(/\*[^:]*\*/g, '*');
