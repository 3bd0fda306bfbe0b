import { describe, printable } from '../errors/describe.js';
import { wrong } from '../errors/configuration.js';

/** Key templates. Mistakes that show without a call are refused when the class is loaded. The message begins with the method. */
export const templateRefusals = {
  /** A `#{` without its brace. */
  unclosed: (source: string) => wrong(`the placeholder ${printable(source)} is not closed; write #{name}.`),

  /** Nothing between the braces. */
  empty: () => wrong("the placeholder '#{}' is empty; name a parameter: #{name}, or its position: #{0}."),

  /** A placeholder that begins with something else, such as an expression. */
  noRoot: (source: string) =>
    wrong(
      `${printable(source)} begins with neither a parameter's name nor a position; write #{name}, #{name.path} or #{0}.`,
    ),

  /** Quotes, brackets or calls in a path. */
  noProperty: (source: string, part: string) =>
    wrong(
      `${printable(source)} has ${printable(part)}, which is not a property name; a path consists of names with dots between them. Anything else needs a key function.`,
    ),

  /** `#{constructor}`, `#{a.__proto__}`: the same for every argument. */
  inherited: (source: string, name: string) =>
    wrong(
      `${printable(source)} reads '${name}', which all objects inherit; only an argument's own properties make a key. Name one of those.`,
    ),

  /** `{id}`, `${id}`: a forgotten `#`, so one lock for all calls. */
  strayBrace: (brace: string) =>
    wrong(`'${brace}' outside of a placeholder; write #{name} for a value. Braces need a key function.`),

  /** `#id`: a forgotten brace, so one lock for all calls. */
  strayHash: (name: string) =>
    wrong(`'#' without a brace; write #{${name}} for a value. A '#' in a name needs a key function.`),

  /** `:id`, `$id`, or nothing but `id` or `order.id`, as other libraries write it, where a parameter has the name: one lock for all calls. */
  parameterAsText: (text: string, placeholder: string) =>
    wrong(
      `${printable(text)} is plain text, the same for all calls, and a parameter of the method has this name; write ${placeholder} for its value. To lock this text itself, give a key function.`,
    ),

  /** `` `${shop}:import` `` with a shop that is not set, or a `:` with nothing behind it. */
  unset: (template: string) =>
    wrong(
      `a part of ${printable(template)} is not set, or is an object or a function. Check the values that it is made of; write #{name} for a value of the call.`,
    ),

  /** `args[0]`, `$0`, `%s`, as other libraries write an argument: one lock for all calls. */
  argumentAsText: (text: string, placeholder: string) =>
    wrong(
      `${printable(text)} is plain text, the same for all calls; write ${placeholder} for the value of an argument. To lock this text itself, give a key function.`,
    ),

  /** `this.id`: a template has the arguments only. */
  fieldAsText: (text: string) =>
    wrong(
      `${printable(text)} is plain text, the same for all calls. A template reads arguments only; a key function has this: key(this: Shop, id: string) { return lockName\`product:\${this.region}:\${id}\`; }.`,
    ),

  /** `#{a}#{b}`: ('a', 'bc') and ('ab', 'c') would be one key. */
  adjoining: (before: string, after: string) =>
    wrong(
      `there is no ':' between '${before}' and '${after}', so different arguments could make the same key; ` +
        `write '${before}:${after}', or give a key function.`,
    ),

  /** A misspelt name, or the name of a destructured parameter. `Found` lists the parameters. */
  unknownName: (source: string, found: string, suggestion: string) =>
    wrong(`'${source}' names no parameter of the method. Found: ${found}.${suggestion} ${otherWays}`),

  /** All parameters have names of one letter, but the template has a longer one: the build has renamed them. */
  minified: (source: string, found: string) =>
    wrong(
      `'${source}' names no parameter of the method. Found: ${found}, as a minifier calls them. Turn that off (esbuild: minifyWhitespace and minifySyntax instead of minify; terser and SWC: mangle: false). ${otherWays}`,
    ),

  /** The class and the method are native or bound functions. */
  unreadable: (source: string) =>
    wrong(`'${source}': the method's source cannot be read, so the names of its parameters are unknown. ${otherWays}`),

  /** `#{2}` for a method with two parameters. */
  outOfRange: (source: string, parameters: string) =>
    wrong(`'${source}' is out of range: the method has ${parameters}. Positions count from #{0}.`),

  /** `#{ids}` for `...ids`. */
  restParameter: (source: string, name: string) =>
    wrong(`'${source}' is a rest parameter, an array; write #{${name}.0} for its first value.`),

  /** At a call: an argument, or a part of the path to the value, is missing. The method did not run. */
  missing: (source: string, template: string, owner: string, owned: string) =>
    wrong(`${source} in ${printable(template)} is missing: ${owner} ${owned}. ${checkFirst}`),

  /** At a call: a getter or a Proxy that throws; its error is the `cause`. The method did not run. */
  throwing: (source: string, template: string, property: string, cause: unknown) =>
    wrong(
      `${source} in ${printable(template)} cannot be read: '${property}' throws. See the cause, or build the key from another value.`,
      cause,
    ),

  /** At a call: `''`, a fraction, `NaN`, an object, a boolean. The method did not run. */
  noPart: (source: string, template: string, problem: string) =>
    wrong(
      `${source} in ${printable(template)} ${problem}; a key takes non-empty strings, safe integers and bigints. ${checkFirst}`,
    ),
} as const;

const otherWays =
  "Or write its position, such as #{0}, give a key function, or name the parameters: params: ['id', …].";
const checkFirst = 'Check the argument before the call, or give a key function.';

/** Keys and key functions. */
export const keyRefusals = {
  /** Neither a template nor a function. */
  noKey: (given: unknown) =>
    wrong(
      `key: ${describe(given)} given; write a template such as 'product:#{id}', several of them, or a function of the arguments.`,
    ),

  /** A list item that is not a template. */
  noTemplate: (given: unknown) =>
    wrong(
      `key: ${describe(given)} is in the list; a list takes templates such as 'product:#{id}'. One function of the arguments can return the whole list.`,
    ),

  /** At a call; its error is the `cause`. The method did not run. */
  throwing: (cause: unknown) =>
    wrong(
      'the key function throws. See the cause; it must return a name, or several, for all arguments of the method.',
      cause,
    ),

  /** `params` is not a list of names. */
  noParams: () => wrong("params: an array of parameter names expected, such as ['id', 'order']."),

  /** `{ key: 'product', params: ['id'] }`: other libraries make the key of both. Here it would be one lock for all calls. */
  unusedParams: (name: string) =>
    wrong(
      `params: it names parameters for the placeholders of key, and key has none: all calls would share one lock. Write the value into key, such as 'product:#{${name}}', or remove params.`,
    ),

  /** One name for two parameters. */
  twice: (name: string) => wrong(`params: '${name}' is in the list twice; each parameter has a name of its own.`),

  /** More names than the method has parameters. */
  tooMany: (names: number, parameters: number) =>
    wrong(`params: ${names} names for the ${parameters} parameters of the method; write one for each, in their order.`),
} as const;

/** `lockName`: names that are built by hand. */
export const nameRefusals = {
  /** It was called as a function: a finished name must not be read as a template. */
  noTemplate: (given: unknown) =>
    wrong(`lockName: ${describe(given)} given; write it in front of a template string: lockName\`product:\${id}\`.`),

  /** `{id}`, `#{id}`, `#id`: not a value. */
  strayMark: (mark: string) =>
    wrong(`lockName: '${mark}' outside of a value; write \${id} for a value. A name with '${mark}' is a plain string.`),

  /** A text such as `product:` without a value, or with `undefined` as a part. */
  unset: (text: string) => wrong(`lockName: a part of ${printable(text)} is not set; write \${id} for a value.`),

  /** `${a}-${b}`: ('a-b', 'c') and ('a', 'b-c') would be one name. */
  adjoining: (between: string) =>
    wrong(
      `lockName: there is only ${printable(between)} between two values, so different values could make the same name; write ':' between them.`,
    ),

  /** `undefined`, `null`, `''`, a fraction, an object, a boolean. */
  noPart: (before: string, problem: string) =>
    wrong(
      `lockName: the value behind ${printable(before)} ${problem}; a name takes non-empty strings, safe integers and bigints. Check the value before the call.`,
    ),
} as const;
