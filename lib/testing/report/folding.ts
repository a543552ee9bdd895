// Folds the start-up of a tree of processes: many steps of a schedule in which supervisors start their children, and nothing else.

import type { TraceEffect, TraceStep } from "./trace.js";

/** Fewer steps are shown as they are. */
const FEWEST = 8;

const STARTED = /^start of .+: started$/;

/** Consecutive steps: several where a tree starts, else one. */
export type Fold = readonly TraceStep[];

export function folded(steps: readonly TraceStep[]): readonly Fold[] {
  const folds: Fold[] = [];
  let run: TraceStep[] = [];
  const close = (): void => {
    if (run.length >= FEWEST) folds.push(run);
    else folds.push(...run.map((step) => [step]));
    run = [];
  };
  for (const step of steps) {
    if (run[0] !== undefined && step.at !== run[0].at) close();
    if (isStart(step)) run.push(step);
    else {
      close();
      folds.push([step]);
    }
  }
  close();
  return folds;
}

/** A folded start-up in a few words. */
export function foldText(fold: Fold): string {
  const spawned = fold.flatMap(({ effects }) => effects).filter(({ type }) => type === "spawn").length;
  const [first, last] = [fold[0] as TraceStep, fold.at(-1) as TraceStep];
  return `… steps ${first.number} to ${last.number}: ${first.process} starts, ${spawned} processes are spawned …`;
}

/** A process starts, or takes notice that its child has started, and does nothing else. */
function isStart(step: TraceStep): boolean {
  if (step.type !== "run" || step.process === "scenario") return false;
  return (step.took === "starts" || STARTED.test(step.took)) && step.effects.every(isOfStart);
}

function isOfStart(effect: TraceEffect): boolean {
  if (effect.type === "spawn") return true;
  if (effect.type === "settle") return effect.what === "a start";
  if (effect.type === "note") return effect.text.startsWith("state: ");
  return effect.type === "send" && !effect.held && STARTED.test(effect.message);
}
