// Scenarios that threads load by name.

import { isMainThread } from "node:worker_threads";
import type { Pid } from "signalbox";
import type { Simulation } from "signalbox/testing";

/** Four letters in any order. */
export async function anyOrder(sim: Simulation): Promise<void> {
  const heard = await letters(sim, "abcd");
  sim.sometimes("d comes first", heard.startsWith("d"));
  sim.state(() => heard);
}

/** Fails when the letters come in the opposite order. */
export async function backwards(sim: Simulation): Promise<void> {
  const heard = await letters(sim, "abcd");
  if (heard === "dcba") throw new Error(`backwards: ${heard}`);
}

/** Ends each thread that is not the main one. */
export async function exits(sim: Simulation): Promise<void> {
  if (!isMainThread) process.exit(3);
  await sim.quiet();
}

let runs = 0;

/** Is not the same when it runs again. */
export async function diverges(sim: Simulation): Promise<void> {
  await letters(sim, runs++ % 2 === 0 ? "ab" : "abc");
}

async function letters(sim: Simulation, all: string): Promise<string> {
  const system = sim.system({ name: "post" });
  let heard = "";
  const office: Pid<string> = system.spawn<string>({
    handle: (_ctx, letter) => {
      heard += letter;
    },
  });
  for (const letter of all) system.spawn((ctx) => ctx.send(office, letter), { label: letter });
  await sim.quiet();
  return heard;
}
