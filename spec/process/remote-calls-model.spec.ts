// Calls between three nodes held against the naive model of their rules, in random interleavings of commands and signals.

import * as fc from "fast-check";
import { expect, test } from "vitest";
import { sized } from "../support/proof.js";
import { type Act, CallDrive, type Choice } from "./remote-call-drive.js";
import type { CallModel } from "./remote-call-model.js";

/** How often each command is chosen, in relation to the others. */
const MIX: Readonly<Record<Act, number>> = {
  call: 6,
  deliver: 12,
  answer: 5,
  pass: 3,
  abort: 1,
  exit: 1,
  cut: 1,
  notice: 2,
  advance: 1,
};

/** One command. Its numbers choose among what there is. */
class Command implements fc.AsyncCommand<CallModel, CallDrive> {
  readonly what: Act;
  readonly choice: Choice;

  constructor(what: Act, choice: Choice) {
    this.what = what;
    this.choice = choice;
  }

  check(): boolean {
    return true;
  }

  run(_: CallModel, drive: CallDrive): Promise<void> {
    return drive.act(this.what, this.choice);
  }

  toString(): string {
    const { which, other, bits } = this.choice;
    return `${this.what}(${which}, ${other}, ${bits})`;
  }
}

const choice = fc.record({ which: fc.nat(999), other: fc.nat(999), bits: fc.nat(2047) });
const command = fc
  .tuple(
    fc.oneof(
      ...(Object.entries(MIX) as [Act, number][]).map(([act, weight]) => ({
        weight,
        arbitrary: fc.constant(act),
      })),
    ),
    choice,
  )
  .map(([act, chosen]) => new Command(act, chosen));

/** Each of these has to happen in some run. */
const REACHED = ["replied", "refused", "timeout kept", "aborted", "second answer", "passed on"].concat(
  ["killed taken", "killed withdrawn", "noproc withdrawn", "noconnection kept"].map(
    (end) => `callee-exited ${end}`,
  ),
);

test("calls between three nodes end as the model of their rules says, and nothing is kept of them [N1151]", async () => {
  const seen = new Map<string, number>();
  await fc.assert(
    fc.asyncProperty(fc.commands([command], { maxCommands: 60, size: "max" }), async (commands) => {
      const drive = new CallDrive(seen);
      await fc.asyncModelRun(() => ({ model: drive.model, real: drive }), commands);
      await drive.finish();
    }),
    { numRuns: sized(60, 0.2, 60), seed: 1151 },
  );
  expect(REACHED.filter((what) => !seen.has(what))).toEqual([]);
});
