// The memory of a node that sends to another one which is stopped. Measured in a process of its own: its heap, and what is outside of it. The
// resident set is larger by what the collector keeps for itself.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ChildProgram, childProgram } from "../../support/child-program.js";
import { describeNats, startNats } from "../../support/nats.js";
import { proving } from "../../support/proof.js";

const MOST_BYTES = 64 * 1_024 * 1_024;

/** It takes seconds, and fills memory. */
const onNats = proving ? describeNats : describe.skip;

onNats("a node that sends to a stopped one", () => {
  let program: ChildProgram;
  beforeAll(async () => {
    program = await childProgram(new URL("../../support/programs/flooder.ts", import.meta.url), [
      "--expose-gc",
    ]);
  });
  afterAll(() => program.remove());

  test("needs 64 MiB at most, and counts each of 100,000 messages as a dead letter once [N1251]", async () => {
    await using server = await startNats();
    const sink = program.start(server.address, "sink");
    await sink.prints("ready");
    const source = program.start(server.address, "source");
    await source.prints("ready");
    sink.signal("SIGSTOP");
    source.signal("SIGUSR2");
    await source.prints("result");
    const { heap, dead } = JSON.parse(/result (.+)/.exec(source.printed())?.[1] ?? "") as Record<
      string,
      number
    >;
    for (const one of [sink, source]) one.signal("SIGKILL");
    expect(dead).toBe(100_000);
    expect(heap).toBeLessThanOrEqual(MOST_BYTES);
  });
});
