// Finds the words of a page that neither a dictionary of British English nor a list of our own has.

import dictionary from "dictionary-en-gb";
import nspell from "nspell";
import { lines } from "./prose.js";

export interface Unknown {
  readonly word: string;
  readonly line: number;
}

let loaded: ReturnType<typeof nspell> | undefined;

/** The dictionary, which takes a while to load. */
function dictionaryOfBritain(): ReturnType<typeof nspell> {
  const { aff, dic } = dictionary;
  loaded ??= nspell({ aff: Buffer.from(aff), dic: Buffer.from(dic) });
  return loaded;
}

/** A function that finds the unknown words of a page. @param own - words besides those of the dictionary */
export function speller(own: readonly string[]): (markdown: string) => Unknown[] {
  const spell = dictionaryOfBritain();
  const known = new Map(own.map((word) => [word, true]));
  const isKnown = (word: string): boolean => {
    const small = word.toLowerCase();
    const found = known.get(word) ?? known.get(small) ?? (spell.correct(word) || spell.correct(small));
    known.set(word, found);
    return found;
  };
  return (markdown) =>
    lines(markdown).flatMap(({ text, line }) =>
      wordsOf(text)
        .filter((word) => !isKnown(word))
        .map((word) => ({ word, line })),
    );
}

/** The words of a text, without the `'s` at their ends. Addresses, files, numbers and names of code are none. */
export function wordsOf(text: string): string[] {
  const words: string[] = [];
  for (const [piece] of text.matchAll(/[^\s()[\]{}"“”,;!?—–/…|=*<>]+/gu)) {
    const token = piece.replaceAll(/^[.:'‘-]+|[.:'’-]+$/g, "");
    // A name of code has a sign or a digit in it, or a capital behind a small letter.
    if (/[\d@#$%&_:\\.]|\p{Ll}\p{Lu}/u.test(token)) continue;
    for (const part of token.split(/[-+]/)) {
      const word = part.replace(/['’]s?$/, "").replaceAll("’", "'");
      if (/^\p{L}[\p{L}']{2,}$/u.test(word) && !isAcronym(word)) words.push(word);
    }
  }
  return words;
}

/** Some capitals, and their plural: `SDKs`. */
const isAcronym = (word: string): boolean => /^\p{Lu}{2,6}s?$/u.test(word);
