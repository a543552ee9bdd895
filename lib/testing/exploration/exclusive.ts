// Explorations of one thread take turns: they share its microtasks and timers.

import { OptionError, ProcessExitedError } from "../../process/errors.js";
import { runningOwner } from "../../process/origin.js";
import { placeOf } from "../../process/own-code.js";
import { Pid } from "../../process/pid.js";
import { production } from "../../process/production.js";
import { HostIoError, HostTimerError } from "../report/errors.js";
import { Actor } from "../simulator/actor.js";
import { host } from "../simulator/host.js";
import { isSimulated } from "../simulator/interceptor.js";
import { active } from "./schedule.js";

let queue: Promise<unknown> = Promise.resolve();

/** Runs explorations one after another: they share the host's microtasks and timers. */
export function exclusively<T>(work: () => Promise<T>): Promise<T> {
  const code = runningOwner();
  if (active.world !== undefined && code !== undefined)
    return Promise.reject(
      new OptionError("explore", "a scenario", "called outside of scenarios: they do not nest"),
    );
  const result = queue.then(async () => {
    const unwatchHost = host.watch(onHostUse);
    const unwatchRejections = production.watchRejections((owner, error) => {
      const { world } = active;
      if (owner instanceof Actor) {
        if (world?.actors.all.includes(owner) === true && !owner.lost) world.fail(error);
        return true;
      }
      if (!(owner instanceof Pid) || !isSimulated(owner)) return false;
      const actor = world?.actors.of(owner);
      // A rejection from a finished schedule is ignored. A stopped system has no listener any more, so the world decides.
      if (world === undefined || actor === undefined || actor.lost) return true;
      if (actor.process?.kernel.stopped !== true) return false;
      if (!(error instanceof ProcessExitedError)) world.fail(error);
      return true;
    });
    try {
      return await work();
    } finally {
      // Rejections from the end of the last schedule must not reach other listeners.
      await host.drain();
      unwatchRejections?.();
      unwatchHost();
    }
  });
  queue = result.catch(() => undefined);
  return result;
}

function onHostUse(kind: "timer" | "io", name: string): void {
  const { world } = active;
  const code = runningOwner();
  const ours = code instanceof Actor || (code instanceof Pid && world?.actors.of(code) !== undefined);
  if (world === undefined || !ours || world.options.allowed(world.code.current.path)) return;
  const [path, place] = [world.code.current.path, placeOf(host.stack())];
  const error = kind === "timer" ? new HostTimerError(path, name, place) : new HostIoError(path, name, place);
  world.fail(error);
  throw error;
}
