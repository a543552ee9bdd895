// Kills a host at each point that it passes: once at the first, once at the second, and so on.

import { type KillReport, killAgainAndAgain } from "./kills.js";

export interface EveryPointOptions {
  readonly seed: number;
  readonly child: readonly string[];
  /** Default 5. */
  readonly inputs?: number;
  /** Kills only at each point whose number this divides. Default 1. */
  readonly step?: number;
  progress?(point: number): void;
}

/** Runs the same inputs on a new store for each point. Ends with the first point that they do not reach, or with the first failure. */
export async function everyPoint(options: EveryPointOptions): Promise<KillReport> {
  const { seed, child, inputs: inputsPerKill = 5, step = 1 } = options;
  let kills = 0;
  let inputs = 0;
  for (let at = step; ; at += step) {
    const one = await killAgainAndAgain({ kills: 1, inputsPerKill, seed, child, store: "sqlite", at });
    kills += one.kills;
    inputs += one.inputs;
    options.progress?.(at);
    if (one.clean && one.kills === 1) continue;
    const line = one.line.replace(/^\d+ kills, \d+ inputs/, `${kills} kills, ${inputs} inputs`);
    return { ...one, kills, inputs, line };
  }
}
