import { describe, printable } from '../core/describe.js';
import { LockConfigurationError } from '../errors/lock-errors.js';

const wrong = (problem: string, cause?: unknown): LockConfigurationError =>
  new LockConfigurationError(problem, { cause });

/** Key templates. What is known without a call is refused when the class is loaded, and says in front which method it is. */
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

  /** A path that is no path: quotes, brackets, calls. */
  noProperty: (source: string, part: string) =>
    wrong(
      `${printable(source)} holds ${printable(part)}, which is no property name; a path is names with dots between them. Anything else needs a key function.`,
    ),

  /** `#{constructor}`, `#{a.__proto__}`: the same for every argument. */
  inherited: (source: string, name: string) =>
    wrong(
      `${printable(source)} reads '${name}', which every object inherits; only an argument's own properties make a key. Name one of those.`,
    ),

  /** `{id}`, `${id}`: a forgotten `#`, so one lock for everybody. */
  strayBrace: (brace: string) =>
    wrong(`'${brace}' outside of a placeholder; write #{name} for a value. Braces need a key function.`),

  /** `#{a}#{b}`: ('a', 'bc') and ('ab', 'c') would be one key. */
  adjoining: (before: string, after: string) =>
    wrong(
      `between '${before}' and '${after}' stands no ':', so different arguments could meet in one key; ` +
        `write '${before}:${after}', or give a key function.`,
    ),

  /** A misspelt name, or one of a destructured parameter. `Found` lists the parameters. */
  unknownName: (source: string, found: string, suggestion: string) =>
    wrong(`'${source}' names no parameter of the method. Found: ${found}.${suggestion} ${otherWays}`),

  /** All parameters have names of one letter, the template's has not: the build has renamed them. */
  minified: (source: string, found: string) =>
    wrong(
      `'${source}' names no parameter of the method. Found: ${found}, as a minifier calls them. Let it keep names. ${otherWays}`,
    ),

  /** The class and the method are native or bound functions. */
  unreadable: (source: string) =>
    wrong(`'${source}': the method's source cannot be read, so parameters have no names here. ${otherWays}`),

  /** `#{2}` for a method with two parameters. */
  outOfRange: (source: string, parameters: string) =>
    wrong(`'${source}' is out of range: the method has ${parameters}. Positions count from #{0}.`),

  /** `#{ids}` for `...ids`. */
  restParameter: (source: string, name: string) =>
    wrong(`'${source}' is a rest parameter, an array; write #{${name}.0} for its first value.`),

  /** At a call: an argument, or something on the way to the value, is not there. The method was not run. */
  missing: (source: string, template: string, owner: string, owned: string) =>
    wrong(`${source} in ${printable(template)} is missing: ${owner} ${owned}. ${checkFirst}`),

  /** At a call: a getter or a Proxy that throws; its error is the `cause`. The method was not run. */
  throwing: (source: string, template: string, property: string, cause: unknown) =>
    wrong(
      `${source} in ${printable(template)} cannot be read: '${property}' throws. See the cause, or make the key of something else.`,
      cause,
    ),

  /** At a call: `''`, a fraction, `NaN`, an object, a boolean. The method was not run. */
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

  /** Something else than a template in a list of them. */
  noTemplate: (given: unknown) =>
    wrong(
      `key: ${describe(given)} stands in the list; it takes templates such as 'product:#{id}'. One function of the arguments can answer the whole list.`,
    ),

  /** At a call; what it threw is the `cause`. The method was not run. */
  throwing: (cause: unknown) =>
    wrong(
      'the key function throws. See the cause; it has to answer a name, or several, for whatever the method is given.',
      cause,
    ),

  /** `params` is something else than names. */
  noParams: () => wrong("params: an array of parameter names expected, such as ['id', 'order']."),

  /** One name for two parameters. */
  twice: (name: string) => wrong(`params: '${name}' stands there twice; every parameter has a name of its own.`),

  /** More names than the method has parameters. */
  tooMany: (names: number, parameters: number) =>
    wrong(`params: ${names} names for the ${parameters} parameters of the method; write one for each, in their order.`),
} as const;
