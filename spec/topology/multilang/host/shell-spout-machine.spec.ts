// The machine of a shell spout against the plainest model: a list of all commands, and a count of the answers.

import { test as check, fc } from "@fast-check/vitest";
import { describe, expect } from "vitest";
import {
  type Command,
  decide,
  type Effect,
  type Event,
  initial,
  type State,
} from "../../../../lib/topology/multilang/host/shell-spout-machine.js";

const emit = {
  type: "emit",
  values: [],
  stream: undefined,
  id: "m",
  anchors: [],
  task: undefined,
  needTaskIds: false,
} as const;

const events: fc.Arbitrary<Event<number>> = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom("next", "ack", "fail").map(commandEvent) },
  { weight: 3, arbitrary: fc.constant({ type: "message", message: { type: "sync" } } as const) },
  { weight: 1, arbitrary: fc.constant({ type: "message", message: emit } as const) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      { type: "overdue" } as const,
      { type: "message", message: { type: "ack", id: 1 } } as const,
    ),
  },
);

function commandEvent(command: string): Event<number> {
  return {
    type: "command",
    command: { command: command as "next", id: command === "next" ? undefined : "m", caller: 0 },
  };
}

describe("the machine of a shell spout", () => {
  check.prop([fc.array(events, { maxLength: 30 })], { numRuns: 2_000 })(
    "sends each command once, in order, and only when the one before is answered",
    (all) => {
      let state: State<number> = initial(700);
      const asked: Command<number>[] = [];
      const sent: Command<number>[] = [];
      const done: Command<number>[] = [];
      let syncs = 0;
      for (const raw of all) {
        const event: Event<number> =
          raw.type === "command" ? { ...raw, command: { ...raw.command, caller: asked.length } } : raw;
        const current = asked[syncs];
        let crash: string | undefined;
        let emits: readonly Effect<number>[] = [];
        if (event.type === "command") asked.push(event.command);
        else if (event.type === "overdue")
          crash = `did not answer the command ${current?.command} within 700 ms`;
        else if (event.message.type === "ack") crash = "is a spout, and cannot ack a tuple";
        else if (current === undefined)
          crash =
            event.message.type === "sync"
              ? "sent sync, and had no command to answer"
              : "emitted a tuple while no command was in progress";
        else if (event.message.type === "sync") syncs++;
        else emits = [{ type: "emit", message: emit, command: current }];

        const [next, effects] = decide(state, event);
        state = next;
        if (crash !== undefined) {
          const problem = event.type === "overdue" ? "timeout" : "protocol";
          expect(effects).toEqual([{ type: "crash", problem, text: crash }]);
          return;
        }
        expect(effects.filter((effect) => effect.type === "emit")).toEqual(emits);
        for (const effect of effects) {
          if (effect.type === "send") sent.push(effect.command);
          if (effect.type === "done") done.push(effect.command);
        }
        expect(done).toEqual(asked.slice(0, syncs));
        expect(sent).toEqual(asked.slice(0, syncs + 1));
      }
    },
  );
});
