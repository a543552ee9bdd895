// One question to many, each asked by a task of its own, with one deadline for the whole. An answer that is late or fails is missing.

import { type BodyContext, type TaskOwner, task, taskStream } from "signalbox";

/** What came of a question to many. */
export interface Gathered<Answer> {
  /** In the order in which the answers came. */
  readonly answers: readonly { readonly from: string; readonly answer: Answer }[];
  /** Those that did not answer, each with the reason. */
  readonly missing: readonly { readonly from: string; readonly why: string }[];
}

/** How long an answer is waited for, and how many are asked at once. */
export interface AskOptions {
  /** For the whole, not for each. */
  readonly withinMs: number;
  /** Default: all of them. */
  readonly atOnce?: number;
}

/**
 * Asks all, and resolves with what came in time. A question that fails does not reject the whole. When the owner ends, so do all questions.
 *
 * @param ask - passes `ctx.signal` to whatever it awaits: the signal aborts when nobody waits any more
 */
export function askAll<Answer>(
  owner: TaskOwner,
  all: readonly string[],
  ask: (from: string, ctx: BodyContext<unknown>) => Promise<Answer>,
  { withinMs, atOnce = all.length }: AskOptions,
): Promise<Gathered<Answer>> {
  const gathering = task(owner, async (ctx) => {
    const answers = [];
    const missing = new Map(all.map((from) => [from, `no answer within ${withinMs} ms`]));
    const late = new AbortController();
    ctx.runAfter(withinMs, () => late.abort());
    const stream = taskStream(ctx, all, ask, {
      ...{ concurrency: Math.max(1, atOnce), ordered: false, failures: "values" },
      ...{ timeoutMs: Number.POSITIVE_INFINITY, signal: late.signal },
    });
    try {
      for await (const result of stream) {
        if (result.ok) {
          answers.push({ from: result.input, answer: result.value });
          missing.delete(result.input);
        } else missing.set(result.input, String(result.error.cause ?? result.error));
      }
    } catch (error) {
      // The deadline kills all tasks that still run, and ends the stream.
      if (!late.signal.aborted) throw error;
    }
    return { answers, missing: Array.from(missing, ([from, why]) => ({ from, why })) };
  });
  return gathering.value({ timeoutMs: Number.POSITIVE_INFINITY });
}
