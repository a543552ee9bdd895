// One question to all parts of an index. Each part has several replicas: when one crashes, another one answers within the same deadline.

import {
  ConsumerGroup,
  consumer,
  type SupervisorDefinition,
  type System,
  supervisor,
  type Work,
} from "signalbox";
import type { Gathered } from "./ask-all.js";

/** A part of the index: its replicas, as a group to ask and a tree to supervise them. */
export interface Part<Question, Answer> {
  readonly replicas: ConsumerGroup<Question, Answer>;
  readonly tree: SupervisorDefinition;
}

/** Defines a part. @param answer - a throw in it crashes the replica, and another one gets the question */
export function part<Question, Answer>(
  name: string,
  copies: number,
  answer: Work<Question, Answer>,
): Part<Question, Answer> {
  const replicas = new ConsumerGroup<Question, Answer>({ name, maxAttempts: copies });
  const start = consumer<Question, Answer>(answer, { group: replicas, concurrency: 8 });
  const children = Array.from({ length: copies }, (_, n) => ({ id: `${name}-${n + 1}`, start }));
  return { replicas, tree: supervisor({ label: name, intensity: 10, children }) };
}

/** Asks one replica of each part. All dispatches have the same deadline, which is that of the whole. */
export async function searchAll<Question, Answer>(
  system: System,
  parts: readonly Part<Question, Answer>[],
  question: Question,
  withinMs: number,
): Promise<Gathered<Answer>> {
  const answers: Gathered<Answer>["answers"][number][] = [];
  const missing: Gathered<Answer>["missing"][number][] = [];
  await Promise.all(
    parts.map(async ({ replicas }) => {
      const from = replicas.name;
      try {
        // While all replicas of a part are being restarted, the question waits for one.
        const { reply } = await system.dispatch(replicas, question, {
          deadlineMs: withinMs,
          patienceMs: withinMs,
        });
        if (reply === undefined) missing.push({ from, why: "an empty reply" });
        else answers.push({ from, answer: reply });
      } catch (error) {
        missing.push({ from, why: (error as Error).message });
      }
    }),
  );
  return { answers, missing };
}
