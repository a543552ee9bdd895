// The program of a thread, with surroundings that are fakes.

import { expect, it } from "vitest";
import { SAID } from "../../../lib/service/pool/thread.js";
import { PoolThread, type ThreadKit } from "../../../lib/service/pool/thread-program.js";

it("says why its file cannot be loaded, and listens on: else it could be gone before it is heard [W5]", async () => {
  const done: unknown[] = [];
  const kit: ThreadKit = {
    ...{ said: SAID, file: "labels.js", idleMs: 1, maxHeapMb: Number.POSITIVE_INFINITY },
    load: () => Promise.reject(new RangeError("no table")),
    post: ([, said]) => void done.push(said),
    listen: () => void done.push("listens"),
    receive: () => undefined,
    sleep: () => false,
    isTooDeep: () => false,
    uncloneablePart: () => "",
    traced: (_trace, run) => run(),
    heapMb: () => 0,
    now: () => 0,
    after: () => () => undefined,
  };
  await new PoolThread(kit).start();
  expect(done).toEqual(["listens", SAID.unloadable]);
});
