// The Environment of a simulated system: clock, randomness, ids and scheduling come from its world.

import type { Environment } from "../../process/environment.js";
import { OptionError } from "../../process/errors.js";
import type { Kernel } from "../../process/kernel.js";
import { text } from "../../process/options.js";
import { production } from "../../process/production.js";
import type { SimulatedClock } from "./clock.js";
import { mix } from "./mix.js";
import { threadsOf } from "./threads.js";
import type { SimulatedTimers } from "./timers.js";
import type { World } from "./world.js";

export function environmentOf(world: World, name: string, clock: SimulatedClock): Environment {
  return {
    now: () => clock.now(),
    wallTime: () => clock.wallTime(),
    random: () => {
      const actor = world.code.setter;
      const variant = world.oracle.draw(RANDOM_VARIANTS, "random", undefined, actor.number);
      const number = mix(actor.hash, actor.randoms++, variant) / 4_294_967_296;
      // The first variant is the ordinary one.
      if (variant > 0) world.options.recorder?.chose("random number", number);
      return number;
    },
    id: () => {
      const actor = world.code.setter;
      return `${actor.path}:${++actor.ids}`;
    },
    buggify: (label, probability) => buggify(world, label, probability),
    createScheduler: (host) => {
      const kernel = host as Kernel;
      (kernel.timers as SimulatedTimers).clock = clock;
      return world.systems.join(name, kernel);
    },
    captureContext: production.captureContext,
    watchRejections: production.watchRejections,
    interception: world.interceptor,
    openThread: threadsOf(world.hostWork.loading),
  };
}

/** How often a point fires in a schedule in which it is enabled. */
const PROBABILITY = 0.25;

function buggify(world: World, label: string, probability = PROBABILITY): boolean {
  text("label", label);
  if (!(typeof probability === "number" && probability > 0 && probability <= 1))
    throw new OptionError("probability", probability, "a number above 0, at most 1");
  const fires = world.faults.allowed && world.oracle.draw(2, `buggify:${label}`, probability) === 1;
  if (fires) world.options.recorder?.note(`buggify: ${label}`);
  world.points.set(label, fires || world.points.get(label) === true);
  return fires;
}

/** Alternatives that a schedule has for each random number. */
const RANDOM_VARIANTS = 256;
