// The memory of a node that sends to another one which is stopped. Measured in a process of its own: what its heap and its buffers use more than
// before, and how much its resident set grows. With V8's own settings the resident set grows by some 30 MiB more: V8 takes up to 48 MiB for young
// objects, and keeps pages that are free. The flags bound that, so that what is left is the node's.

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
      "--max-semi-space-size=2",
      "--optimize-for-size",
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
    const { heap, rss, dead } = JSON.parse(/result (.+)/.exec(source.printed())?.[1] ?? "") as Record<
      string,
      number
    >;
    for (const one of [sink, source]) one.signal("SIGKILL");
    expect(dead).toBe(100_000);
    expect(heap).toBeLessThanOrEqual(MOST_BYTES);
    expect(rss).toBeLessThanOrEqual(MOST_BYTES);
  });
});
