const uuid = /[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/gi;
/** Of a part between colons: from the first to the last word with a digit. */
const values = /(?<![\p{L}\p{N}_])[\p{L}_]*\p{N}(?:[^:]*\p{N})?[\p{L}\p{N}_]*/gu;

/** The label of a name that no text of the code is known to make: each part of it may be a value. */
export const anyName = '*';

/** Texts are in the code, so there are a few dozen. Code that makes its own code has more of them. */
const mostForms = 1000;

/** What the code says of names: the texts around their values. */
interface NameForm {
  readonly label: string;
  /** The template of a decorator says more than the same text of `lockName`: it names the values. */
  readonly isTemplate: boolean;
  /** How many characters are not values. */
  readonly fixed: number;
  readonly pattern: RegExp;
}

const forms = new Map<string, NameForm>();
/** For texts of which only the text is known. Those with the most fixed text first. */
const common: NameForm[] = [];

function know(source: string, label: string, literals: readonly string[], isTemplate: boolean): void {
  if (forms.has(source) || forms.size >= mostForms) return;
  const texts = literals.map((text) => text.replaceAll(/[$()*+./?[\\\]^{|}]/g, String.raw`\$&`));
  // A value is not empty, and is encoded: it has no colon and no brace.
  const form = {
    label,
    isTemplate,
    fixed: literals.join('').length,
    pattern: new RegExp(`^${texts.join('[^:{}]+')}$`, 'u'),
  };
  forms.set(source, form);
  // A template that begins with a value fits names that have nothing to do with it.
  if (isTemplate && literals[0] === '') return;
  const next = common.findIndex((other) => other.fixed < form.fixed || (other.fixed === form.fixed && isTemplate));
  common.splice(next < 0 ? common.length : next, 0, form);
}

/** A decorator has this template. */
export const knowTemplate = (template: string, literals: readonly string[]): void =>
  know(template, template, literals, true);

/** `lockName` was called with these texts around its values. */
export const knowTexts = (literals: readonly string[]): void =>
  know(literals.join('#{}'), literals.join(anyName), literals, false);

const formOf = (name: string): NameForm | undefined => common.find(({ pattern }) => pattern.test(name));

/**
 * What metrics and spans call a lock: text of the code, and no value.
 * @param templates of the decorator that made the name
 */
export const labelOf = (name: string, templates?: readonly string[]): string =>
  templateOf(name, templates) ?? formOf(name)?.label ?? anyName;

/** Which of the templates of a decorator made the name: of several that fit, the one with the most fixed text. */
export function templateOf(name: string, templates: readonly string[] = []): string | undefined {
  if (templates.length < 2) return templates[0];
  const fitting = templates
    .flatMap((template) => forms.get(template) ?? [])
    .filter(({ pattern }) => pattern.test(name));
  return fitting.sort((a, b) => b.fixed - a.fixed)[0]?.label;
}

/** Elections are few, and their alerts need their names. One that `lockName` made with values has the label of other locks. */
export const electionLabelOf = (name: string): string =>
  common.find(({ isTemplate, pattern }) => !isTemplate && pattern.test(name))?.label ?? name;

/**
 * The common part of the names that one template makes: `product:#{id}`, `product:42` and `product:7c9e…` are all `product:*`. Of a plain
 * text it is a guess, which may leave values in it: for people who see the name itself.
 */
export const kindOfName = (name: string): string => kindOfTemplate(formOf(name)?.label ?? name);

export const kindOfTemplate = (template: string): string => generalized(template.replaceAll(/#\{[^}]*\}/g, '*'));

/** Replaces values: in each part between colons, everything from the first to the last. Words with a digit (ids, dates, versions) are values. */
const generalized = (name: string): string =>
  name
    .replaceAll(uuid, '*')
    .replaceAll(values, '*')
    .replaceAll(/\*[^:]*\*/g, '*');
