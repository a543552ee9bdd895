// A split brain: the backup no longer hears the primary and takes over, while the primary still hears the backup and goes on.

import type { Callbacks, Pid, System } from "signalbox";
import type { Planted } from "./planted.js";

const BEAT_MS = 10;
const LEASE_MS = 15;
/** Longer than the lease, so that the primary has stopped by then. */
const TAKEOVER_MS = 25;
const BEATS = 4;

/** Each of the two tells the other its time, and the last time that it was told. */
interface Beat {
  readonly at: number;
  readonly seen: number;
}
type Message = Beat | "beat";

export const splitBrain: Planted = {
  bug: "split brain",
  wrong: "a primary goes on as long as it hears its backup, though the backup may not hear it",
  code: "ERR_SIM_INVARIANT",
  says: "one of them serves",
  scenario: (wrong) => async (sim) => {
    const network = sim.network({ partition: { oneWay: true, silent: true, forMs: [100] } });
    const [left, right] = ["left", "right"].map((name) => network.join(sim.system({ name }))) as [
      System,
      System,
    ];
    let lease = LEASE_MS;
    let takenOver = false;
    const server = (to: () => Pid<Message>, heard: (beat: Beat, now: number) => void): Callbacks<Message> => {
      let seen = 0;
      let beats = 0;
      return {
        init: (ctx) => ctx.send(ctx.self, "beat"),
        handle: (ctx, message) => {
          if (message !== "beat") {
            seen = message.at;
            heard(message, ctx.now());
            return;
          }
          ctx.send(to(), { at: ctx.now(), seen });
          if (++beats < BEATS) ctx.sendAfter(ctx.self, "beat", BEAT_MS);
        },
      };
    };
    const primary: Pid<Message> = left.spawn(
      server(
        () => left.pidAt(right.address(backup)) as Pid<Message>,
        ({ seen }, now) => {
          lease = (wrong ? now : seen) + LEASE_MS;
        },
      ),
      { label: "primary" },
    );
    let last = 0;
    const backup: Pid<Message> = right.spawn(
      server(
        () => right.pidAt(left.address(primary)) as Pid<Message>,
        (_beat, now) => {
          last = now;
        },
      ),
      { label: "backup" },
    );
    sim.monitor.always("one of them serves", () => !(takenOver && lease > sim.now));
    for (let beats = 0; beats < BEATS; beats++) {
      await sim.sleep(BEAT_MS);
      takenOver ||= sim.now - last >= TAKEOVER_MS;
    }
  },
};
