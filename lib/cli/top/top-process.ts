// Carries out what the machine of `signalbox top` decides, on a screen; and the plain loop that prints samples for a pipe.

import type { AdminClient } from "../shell/admin-client.js";
import { keysOf } from "../shell/keys.js";
import type { Screen, ScreenEvents } from "../shell/screen.js";
import type { Style } from "../shell/style.js";
import {
  decide,
  initial,
  type Sample,
  type TopConfig,
  type TopEffect,
  type TopEvent,
  type TopQuestion,
} from "./top-machine.js";
import { screenLines } from "./view.js";

/** Asks a program. */
export interface TopProgram {
  /** @throws Error when there is no answer */
  sample(question: TopQuestion, signal: AbortSignal): Promise<Sample>;
}

export interface TopScreen {
  open(events: ScreenEvents): Screen;
  /** Calls `fn` after so many milliseconds; returns the call that cancels it. */
  after(ms: number, fn: () => void): () => void;
  readonly paint: Style<never>;
}

/** Shows a program on a screen until the user quits, or until `signal`. Rejects when nothing can be drawn any more. */
export function onScreen(
  program: TopProgram,
  first: Sample,
  config: Omit<TopConfig, "columns" | "rows">,
  { open, after, paint }: TopScreen,
  signal: AbortSignal,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const asking = new AbortController();
    let cancelTimer = (): void => undefined;
    let isOver = false;
    const end = (error?: Error): void => {
      if (isOver) return;
      isOver = true;
      cancelTimer();
      signal.removeEventListener("abort", interrupted);
      asking.abort(new Error("the screen is closed"));
      screen.close();
      if (error === undefined) resolve();
      else reject(error);
    };
    const interrupted = (): void => end();
    const screen = open({
      input: (text) => {
        for (const key of keysOf(text)) happen({ type: "pressed", key });
      },
      resized: () => happen({ type: "resized", columns: screen.columns, rows: screen.rows }),
      lost: end,
    });
    let state = initial({ ...config, columns: screen.columns, rows: screen.rows });
    const happen = (event: TopEvent): void => {
      if (isOver) return;
      // What follows from an effect comes later, as an event of its own: none of them leads to one at once.
      const [next, effects] = decide(state, event);
      state = next;
      try {
        effects.forEach(carryOut);
      } catch (error) {
        end(error as Error);
      }
    };
    const carryOut = (effect: TopEffect): void => {
      switch (effect.type) {
        case "ask":
          cancelTimer();
          program.sample(effect.question, asking.signal).then(
            (sample) => happen({ type: "answered", sample }),
            (error: Error) => happen({ type: "failed", problem: error.message }),
          );
          return;
        case "later":
          cancelTimer();
          cancelTimer = after(effect.ms, () => happen({ type: "due" }));
          return;
        case "draw":
          screen.draw(screenLines(state, paint));
          return;
        case "end":
          end();
          return;
        default:
          effect satisfies never;
      }
    };
    signal.addEventListener("abort", interrupted);
    if (signal.aborted) end();
    else happen({ type: "answered", sample: first });
  });
}

/** Prints a sample after each interval, so many of them, or until `signal`. */
export async function inTurn(
  program: TopProgram,
  question: TopQuestion,
  {
    intervalMs,
    count,
    after,
  }: { readonly intervalMs: number; readonly count: number } & Pick<TopScreen, "after">,
  print: (sample: Sample, isFirst: boolean) => void,
  signal: AbortSignal,
): Promise<void> {
  // Rates are those between two looks: the first look begins them.
  await program.sample(question, signal);
  for (let n = 0; n < count && !signal.aborted; n++) {
    await pause(intervalMs, after, signal);
    if (signal.aborted) return;
    print(await program.sample(question, signal), n === 0);
  }
}

function pause(ms: number, after: TopScreen["after"], signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      cancel();
      signal.removeEventListener("abort", done);
      resolve();
    };
    const cancel = after(ms, done);
    signal.addEventListener("abort", done);
    if (signal.aborted) done();
  });
}

/**
 * A program that is reached anew when its connection is lost: it may have been started again.
 *
 * @param reach - rejects when there is none
 * @param ask - asks over a connection
 */
export class ReachedProgram implements TopProgram {
  readonly #reach: () => Promise<AdminClient>;
  readonly #ask: (client: AdminClient, question: TopQuestion, signal: AbortSignal) => Promise<Sample>;
  #client: AdminClient | undefined;

  constructor(
    reach: () => Promise<AdminClient>,
    ask: (client: AdminClient, question: TopQuestion, signal: AbortSignal) => Promise<Sample>,
  ) {
    this.#reach = reach;
    this.#ask = ask;
  }

  async sample(question: TopQuestion, signal: AbortSignal): Promise<Sample> {
    this.#client ??= await this.#reach();
    try {
      return await this.#ask(this.#client, question, signal);
    } catch (error) {
      // `request`: the host did not answer.
      if ((error as { request?: unknown }).request !== undefined) this.close();
      throw error;
    }
  }

  close(): void {
    this.#client?.close();
    this.#client = undefined;
  }
}
