// Takes secret values out of texts that others wrote: messages of schema libraries, which may quote what they were given.

/** Values of this length or more are hidden wherever they appear in a text … */
const LONG = 6;
/** … those of this length or more where they stand by themselves, and shorter ones where they are quoted. */
const SHORT = 3;

/** Stands for a value in a text. */
const HIDDEN = "(hidden)";

/** Characters that a quoted value has in another form. */
const ESCAPED = /["\\\p{Cc}\p{Cs}]/u;

/** A text without these values. Longer ones go first, as a value may contain another one. */
export function hideAll(text: string, values: Iterable<string>): string {
  return [...new Set(values)]
    .filter((value) => value !== "" && (text.includes(value) || ESCAPED.test(value)))
    .sort((a, b) => b.length - a.length)
    .reduce(hide, text);
}

function hide(text: string, value: string): string {
  const quoted = JSON.stringify(value).slice(1, -1);
  return [value, quoted].reduce((rest, one) => {
    if (one.length >= LONG) return rest.replaceAll(one, HIDDEN);
    // A short value may be a part of an ordinary word, and a very short one a word: those are hidden where they are quoted.
    const escaped = one.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
    const [before, after] = one.length >= SHORT ? ["(?<!\\w)", "(?!\\w)"] : ["(?<=[\"'`])", "(?=[\"'`])"];
    return rest.replaceAll(new RegExp(`${before}${escaped}${after}`, "g"), HIDDEN);
  }, text);
}
