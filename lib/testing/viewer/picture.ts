// What the viewer shows of a trace, as data: lanes, steps, arrows and changes of state. The page draws it, and decides nothing.

import { effectText, happening, isFault, settled, time } from "../report/render.js";
import type { ProcessChange, Trace, TraceEffect, TraceStep } from "../report/trace.js";

/** One step, drawn in a lane. */
export interface ShownStep {
  /** Index of the lane. */
  readonly lane: number;
  readonly kind: TraceStep["type"];
  readonly fault: boolean;
  /** Virtual time, for people. */
  readonly time: string;
  /** The event in a few words. */
  readonly title: string;
  /** The effects, one line each. */
  readonly lines: readonly string[];
  readonly place: string;
  /** Lanes of the processes that the step spawned, and of those that ended in it. */
  readonly spawned: readonly number[];
  readonly ended: readonly number[];
  readonly changes: readonly ShownChange[];
  /** Values of `sim.state`, if they changed. */
  readonly states?: readonly string[];
}

/** A process after a step. */
export interface ShownChange {
  readonly lane: number;
  readonly status: ProcessChange["status"];
  /** The messages in its mailbox, oldest first. */
  readonly mailbox: readonly string[];
  readonly links: readonly string[];
  readonly monitors: readonly string[];
}

/** A message, from the step that sent it to the step that took it; or a reply, from the step that gave it to the one that went on. */
export interface Arrow {
  /** Number of a message; undefined for a reply. */
  readonly letter?: number;
  readonly text: string;
  readonly from: Point;
  /** Undefined while no process has taken the message. */
  readonly to?: Point;
  /** Lane of the receiver. */
  readonly target: number;
  readonly lost: boolean;
}

/** A step in a lane. */
export interface Point {
  readonly step: number;
  readonly lane: number;
}

export interface Picture {
  /** Paths of the processes, in the order in which they appear. */
  readonly lanes: readonly string[];
  readonly steps: readonly ShownStep[];
  readonly arrows: readonly Arrow[];
  readonly failure: string;
}

export function pictureOf(trace: Trace): Picture {
  const lanes = new Lanes();
  const messages = messagesOf(trace);
  const steps = trace.steps.map((step) => shown(step, lanes, messages));
  const arrows = arrowsOf(trace.steps, lanes);
  return { lanes: lanes.names, steps, arrows, failure: trace.failure ?? "" };
}

class Lanes {
  readonly names: string[] = [];
  readonly #indices = new Map<string, number>();

  of(name: string): number {
    let index = this.#indices.get(name);
    if (index === undefined) {
      index = this.names.push(name) - 1;
      this.#indices.set(name, index);
    }
    return index;
  }
}

/** Texts of the messages by number. */
function messagesOf({ steps }: Trace): ReadonlyMap<number, string> {
  const texts = new Map<number, string>();
  for (const { effects } of steps)
    for (const effect of effects)
      if (effect.type === "send" && effect.letter !== undefined)
        texts.set(
          effect.letter,
          `${effect.message}${effect.from === undefined ? "" : ` from ${effect.from}`}`,
        );
  return texts;
}

function shown(step: TraceStep, lanes: Lanes, messages: ReadonlyMap<number, string>): ShownStep {
  const lane = lanes.of(step.process);
  const paths = (type: "spawn" | "exit"): number[] =>
    step.effects.flatMap((effect) => (effect.type === type ? [lanes.of(effect.process)] : []));
  return {
    lane,
    kind: step.type,
    fault: isFault(step),
    time: time(step.at),
    title: happening(step),
    lines: step.effects.map(lineOf),
    place: step.place ?? "",
    spawned: paths("spawn"),
    ended: paths("exit"),
    changes: (step.changes ?? []).map((change) => ({
      ...change,
      lane: lanes.of(change.process),
      mailbox: change.mailbox.map((number) => messages.get(number) ?? `message ${number}`),
    })),
    ...(step.states !== undefined && { states: step.states }),
  };
}

/** An effect, with the place of its code. */
function lineOf(effect: TraceEffect): string {
  const place = "place" in effect ? effect.place : undefined;
  return `${effectText(effect)}${place === undefined ? "" : ` (${place})`}`;
}

/** The number of the message that a step takes. A message held on its way arrives first, which takes nothing. */
function takenBy(step: TraceStep): number | undefined {
  return step.type === "run" || step.type === "effect" ? step.letter : undefined;
}

function arrowsOf(steps: readonly TraceStep[], lanes: Lanes): Arrow[] {
  return [...messageArrows(steps, lanes), ...replyArrows(steps, lanes)];
}

function messageArrows(steps: readonly TraceStep[], lanes: Lanes): Arrow[] {
  const takes = new Map<number, Point>();
  const lost = new Set<number>();
  for (const [index, step] of steps.entries()) {
    const taken = takenBy(step);
    if (taken !== undefined) takes.set(taken, { step: index, lane: lanes.of(step.process) });
    for (const effect of step.effects)
      if (effect.type === "lost" && effect.letter !== undefined) lost.add(effect.letter);
  }
  return steps.flatMap((step, index) =>
    step.effects.flatMap((effect) => {
      if (effect.type !== "send" || effect.letter === undefined) return [];
      const { letter, message: text, from: sender = step.process, to } = effect;
      const taken = takes.get(letter);
      const from = { step: index, lane: lanes.of(sender) };
      const way = { from, ...(taken !== undefined && { to: taken }), target: lanes.of(to) };
      return [{ letter, text, ...way, lost: lost.has(letter) }];
    }),
  );
}

/** Promises are settled and their code goes on in the same order, for each process. */
function replyArrows(steps: readonly TraceStep[], lanes: Lanes): Arrow[] {
  const arrows: Arrow[] = [];
  const waiting = new Map<string, Omit<Arrow, "to">[]>();
  for (const [index, step] of steps.entries()) {
    if (step.type === "resume") {
      const reply = waiting.get(step.process)?.shift();
      const to = { step: index, lane: lanes.of(step.process) };
      if (reply !== undefined && reply.from.lane !== to.lane) arrows.push({ ...reply, to });
    }
    for (const effect of step.effects) {
      if (effect.type !== "settle") continue;
      const from = { step: index, lane: lanes.of(step.process) };
      const replies = waiting.get(effect.process) ?? [];
      waiting.set(effect.process, replies);
      replies.push({ text: settled(effect), from, target: lanes.of(effect.process), lost: false });
    }
  }
  return arrows;
}
