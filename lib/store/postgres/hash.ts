// Names as numbers.

const BASIS = 0x811c9dc5;
const PRIME = 0x01000193;

/** A number of 31 bits for a text: FNV-1a. */
export function hash(text: string): number {
  let value = BASIS;
  for (const character of text) value = Math.imul(value ^ (character.codePointAt(0) as number), PRIME);
  return value >>> 1;
}
