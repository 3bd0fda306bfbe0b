const uuid = /[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/gi;
/** Words with a digit in them: ids, dates, versions. */
const number = /[\p{L}\p{N}_]*\p{N}[\p{L}\p{N}_]*/gu;

/** What names have in common that one template makes: `product:#{id}`, `product:42` and `product:7c9e…` are all of `product:*`. */
export const kindOfName = (name: string): string => generalized(name);

export const kindOfTemplate = (template: string): string => generalized(template.replaceAll(/#\{[^}]*\}/g, '*'));

/** In each part between colons, everything from the first value to the last one. */
const generalized = (text: string): string =>
  text
    .replaceAll(uuid, '*')
    .replaceAll(number, '*')
    .replaceAll(/\*[^:]*\*/g, '*');
