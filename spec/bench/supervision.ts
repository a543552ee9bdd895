// Supervisors: very many children that come one after the other and go together, and a child that fails all the time.

import { type Callbacks, custom, stop, supervisor } from "signalbox";
import { onSystem, type Program } from "./program.js";

/** Children are added one after the other, each when the one before is up, and are stopped with their supervisor. */
export function supervisorChildren(count: number): Program {
  return onSystem(count, count, (system, done) => {
    let ends = 0;
    const start: Callbacks<never> = { handle: () => undefined };
    const work = async (): Promise<void> => {
      const shop = await system.start(supervisor({}));
      for (let i = 0; i < count; i++) await shop.startChild({ id: `child ${i}`, start });
      const gone = system.exited(shop.pid);
      system.events.on("exit", ({ pid }) => {
        if (pid.label?.startsWith("child ") === true) ends++;
      });
      system.exit(shop.pid, "shutdown");
      await gone;
      done(ends);
    };
    void work();
  });
}

const BOOM = stop(custom("boom"));

/** One of a hundred children ends with `boom` as soon as it is up, `count` times, and is started again alone. */
export function restart(count: number): Program {
  return onSystem(count, count, (system, done) => {
    let starts = 0;
    const failing: Callbacks<"fail"> = {
      init: (ctx) => {
        if (starts < count) ctx.send(ctx.self, "fail");
        else done(starts);
        starts++;
      },
      handle: () => BOOM,
    };
    const idle: Callbacks<never> = { handle: () => undefined };
    const siblings = Array.from({ length: 99 }, (_, i) => ({ id: `sibling ${i}`, start: idle }));
    const children = [...siblings, { id: "failing", start: failing }];
    void system.start(supervisor({ intensity: Number.POSITIVE_INFINITY, children }));
  });
}
