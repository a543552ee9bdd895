// The Environment of a simulated system: clock, randomness, ids and scheduling come from its world.

import type { Environment } from "../../process/environment.js";
import type { Kernel } from "../../process/kernel.js";
import { production } from "../../process/production.js";
import type { World } from "./world.js";

/** Wall time at the beginning of every schedule: 1 January 2025, UTC. */
const EPOCH = 1_735_689_600_000;

export function environmentOf(world: World, name: string): Environment {
  return {
    now: () => world.now,
    wallTime: () => EPOCH + world.now,
    random: () => {
      const actor = world.current;
      const variant = world.oracle.draw(RANDOM_VARIANTS, "random");
      const number = mix(actor.number, actor.randoms++, variant);
      // The first variant is the ordinary one.
      if (variant > 0) world.options.recorder?.chose("random number", number);
      return number;
    },
    id: () => {
      const actor = world.current;
      return `${actor.path}:${++actor.ids}`;
    },
    createScheduler: (host) => world.join(name, host as Kernel),
    captureContext: production.captureContext,
    watchRejections: production.watchRejections,
    interception: world.interceptor,
  };
}

/** Alternatives that a schedule has for each random number. */
const RANDOM_VARIANTS = 256;

/** A number in [0, 1) for each actor, draw and variant: murmur3's finalizer over the three. */
function mix(actor: number, draw: number, variant: number): number {
  let h =
    Math.imul(actor + 1, 0x9e3779b1) ^ Math.imul(draw + 1, 0x85ebca6b) ^ Math.imul(variant + 1, 0xc2b2ae35);
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return ((h ^ (h >>> 16)) >>> 0) / 4_294_967_296;
}
