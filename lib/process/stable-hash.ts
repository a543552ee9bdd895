// Hashes that are the same in every run, on every machine and in every version: routes and partitions are chosen by them.

/** FNV-1a with a final mix, 32 bits: even for short, similar strings. @param seed - each seed gives another hash */
export function hash(text: string, seed = 0x811c9dc5): number {
  let h = seed;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
  return mix(h) >>> 0;
}

/** Spreads each bit of a number over all 32 bits. No two numbers give the same result. */
export function mix(bits: number): number {
  let h = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return h ^ (h >>> 16);
}
