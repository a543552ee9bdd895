// Variables of the environment in texts: `${NAME}` and `${NAME:-default}`. They are put into scalars that the parser has already told
// apart from structure, so that no value can add a line, a key or a comment. A value is not searched for variables again.

import { suggestionFor } from "../definition/fault.js";

/** Variables by name, such as `process.env`. */
export type Variables = Readonly<Record<string, string | undefined>>;

/** A scalar with its variables put in. */
export type Substituted =
  | {
      readonly value: string | number | boolean;
      /** Values from the environment: they appear in no text. */
      readonly secrets: readonly string[];
    }
  | { readonly allowed: string; readonly found: string; readonly suggestion: string | undefined };

const VARIABLE = /\$\$\{|\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}|\$\{/g;

/** Whether a text has anything to substitute, `$${` included. */
export function hasVariable(text: string): boolean {
  return text.includes("${");
}

/**
 * Puts variables into a scalar. A variable that is not set, or is empty, gives its default. `$${` is a plain `${`.
 *
 * @param isPlain - the scalar has no quotes: if it is one variable and nothing else, a value that is a number, `true` or `false`
 * becomes one
 */
export function substitute(text: string, isPlain: boolean, variables: Variables): Substituted {
  const secrets: string[] = [];
  let fault: Exclude<Substituted, { readonly value: unknown }> | undefined;
  const whole = text.replaceAll(VARIABLE, (found, name?: string, byDefault?: string) => {
    if (found === "$${") return "${";
    if (name === undefined) {
      fault ??= { allowed: WANTED, found: "an unfinished ${", suggestion: undefined };
      return found;
    }
    const given = Object.hasOwn(variables, name) ? variables[name] : undefined;
    const value = typeof given === "string" ? given : undefined;
    if (byDefault !== undefined && (value === undefined || value === "")) return byDefault;
    if (value === undefined) {
      const suggestion = suggestionFor(Object.keys(variables), name);
      fault ??= {
        allowed: `${SET} $\{${name}:-default}`,
        found: `$\{${name}}, which is not set`,
        suggestion,
      };
      return found;
    }
    secrets.push(value);
    return value;
  });
  if (fault !== undefined) return fault;
  if (secrets.length > 0) secrets.push(whole);
  if (!(isPlain && ALONE.test(text))) return { value: whole, secrets };
  const value = typed(whole);
  if (value !== undefined) return { value, secrets };
  return {
    allowed: "a number that is exact, or in quotes to make it a text",
    found: `${text}, whose value is a number that is too large`,
    suggestion: undefined,
  };
}

const WANTED = `a text with variables such as $\{NAME} or $\{NAME:-default}, or $$\{ for a plain $\{`;
const SET = "a variable that is set, or one with a default as in";
const ALONE = /^\$\{[^}]*\}$/;
/** As JSON writes numbers. */
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

function typed(text: string): string | number | boolean | undefined {
  if (text === "true" || text === "false") return text === "true";
  if (!NUMBER.test(text)) return text;
  const number = Number(text);
  return isExact(number) ? number : undefined;
}

/** Whether a number is finite and, if it is whole, not rounded. */
export function isExact(number: number): boolean {
  return Number.isFinite(number) && (!Number.isInteger(number) || Number.isSafeInteger(number));
}
