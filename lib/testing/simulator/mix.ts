// One number of three: for random numbers and for the numbers of pids.

/** A 32-bit number for each actor, draw and variant: murmur3's finalizer over the three. */
export function mix(actor: number, draw: number, variant: number): number {
  let h =
    Math.imul(actor + 1, 0x9e3779b1) ^ Math.imul(draw + 1, 0x85ebca6b) ^ Math.imul(variant + 1, 0xc2b2ae35);
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}
