// Windows of event time in a program of a thread or another node: the lineage of the tuples is at their host, and not here.

import { expect, test } from "vitest";
import type { Callbacks } from "../../../../lib/process/behaviour.js";
import type { Pid } from "../../../../lib/process/pid.js";
import { launch } from "../../../../lib/process/start.js";
import { ProcessSystem } from "../../../../lib/process/system.js";
import { type TestClock, testClock } from "../../../../lib/testing/kit/clock.js";
import { tumbling } from "../../../../lib/topology/components/window-plan.js";
import { windowBolt } from "../../../../lib/topology/components/windows.js";
import type { BoltDefinition } from "../../../../lib/topology/definition/component.js";
import { field } from "../../../../lib/topology/definition/field.js";
import { boltProgram } from "../../../../lib/topology/multilang/program/bolt-program.js";
import type {
  FromPlaced,
  PlacedTask,
  ToPlaced,
} from "../../../../lib/topology/multilang/protocol/placed-messages.js";

const fields = { word: field.text, at: field.number };
const windows = windowBolt({
  input: fields,
  streams: { results: { words: field.text } },
  window: tumbling({ ms: 10, by: (values: { at: number }) => values.at }),
  execute: ({ tuples }, { emit }) =>
    emit.results({ words: tuples.map(({ values }) => values.word).join(" ") }),
});

/** A command of the program. */
interface Said {
  readonly command: string;
  readonly tuple: readonly unknown[];
  readonly anchors: readonly string[];
}

/** The bolt as a program of a host that is here, with a message timeout of one second, and old enough to know which tuples are new. */
async function placed(system: ProcessSystem, clock: TestClock, definition: BoltDefinition<never>) {
  const said: Said[] = [];
  const host = system.spawn<FromPlaced>({
    handle: (_ctx, message) => {
      if (message.type === "said") said.push(...(message.commands as Said[]));
    },
  });
  const task: PlacedTask = {
    ...{ component: "windows", task: 2, index: 0, host },
    config: { concurrency: 1, executeTimeoutMs: undefined, tickMs: undefined, messageTimeoutMs: 1_000 },
  };
  const { behaviour, options } = boltProgram(definition)[launch]([task] as never);
  const program = system.spawn(behaviour as Callbacks<never>, options ?? {}) as Pid<ToPlaced>;
  const come = async (id: string, ...values: [unknown, number]): Promise<void> => {
    system.send(program, { type: "tuple", id, component: "lines", stream: "lines", task: 1, values });
    await clock.settle();
  };
  await clock.advance(4_000);
  /** What was emitted since the last call. */
  const emitted = (): Said[] => said.splice(0).filter(({ command }) => command === "emit");
  return { program, come, emitted };
}

test("a window that is placed elsewhere is handed over again with all of its tuples that come again [N1500]", async () => {
  const clock = testClock();
  await using system = new ProcessSystem({ environment: clock.environment });
  const definition = windows as unknown as BoltDefinition<never>;
  const { program, come, emitted } = await placed(system, clock, definition);
  const comeAll = async (...ids: string[]): Promise<void> => {
    for (const id of ids) {
      const [word, at] = id.split("@");
      await come(id, word?.at(-1), Number(at));
    }
  };
  const results = (): unknown[] => emitted().map(({ tuple, anchors }) => [tuple[0], ...anchors]);
  await comeAll("a@1", "b@5", "c@12");
  await comeAll("2a@1", "2b@5");
  await clock.advance(250);
  expect(results()).toEqual([
    ["a b", "a@1", "b@5"],
    ["a b", "2a@1", "2b@5"],
  ]);
  // When the topology drains, there is nothing to wait for.
  await comeAll("3a@1");
  system.send(program, { type: "flush", id: "flush" });
  await clock.settle();
  expect(results()).toEqual([
    ["a b", "3a@1"],
    ["c", "c@12"],
  ]);
});

test("a tuple with a value that JSON has no form for is in its window [N1500]", async () => {
  const clock = testClock();
  await using system = new ProcessSystem({ environment: clock.environment });
  const sizes = windowBolt({
    input: { key: field.of<unknown>(), at: field.number },
    streams: { results: { size: field.number } },
    window: tumbling({ ms: 10, by: (values: { at: number }) => values.at }),
    execute: ({ tuples }, { emit }) => emit.results({ size: tuples.length }),
  });
  const { come, emitted } = await placed(system, clock, sizes as unknown as BoltDefinition<never>);
  const circle: unknown[] = [];
  circle.push(circle);
  for (const key of [10n, circle, new Map([["a", 1]])]) await come("first", key, 1);
  await come("next", null, 12);
  // A value without a text may be a retry, and nothing tells of which, so it replaces none. Other maps and numbers are no retries.
  await come("again", circle, 1);
  for (const key of [11n, new Map([["a", 2]])]) await come("other", key, 1);
  await clock.advance(250);
  expect(emitted().map(({ tuple }) => tuple)).toEqual([[3], [4]]);
});
