// What a node keeps of other ones. Each boot of a node has a new id, so a node that runs for long meets many.

import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { type Pid, type RemoteNode, type ReplyTo, remoteNodes, System, type WireSignal } from "signalbox";
import { describe, expect, test, vi } from "vitest";
import type { Remote } from "../../lib/process/remote.js";

const MANY = 10_000;

function system(answer?: (signal: WireSignal) => void): System {
  const send = (_node: RemoteNode, signal: WireSignal): boolean => {
    answer?.(signal);
    return true;
  };
  return new System({ report: false, transport: remoteNodes({ send }) });
}

const peersOf = (of: System): number => (of.kernel.remote as Remote).peers.size;
const boot = (n: number): RemoteNode => ({ name: "shop", id: `boot ${n}` });

function collector(): () => void {
  setFlagsFromString("--expose-gc");
  return runInNewContext("gc") as () => void;
}

describe("a node that runs for long", () => {
  test("keeps nothing of 10,000 nodes that called it and were lost [N1150]", async () => {
    const here = system();
    const echo = here.spawn<{ readonly replyTo: ReplyTo<number> }>({
      handle: (ctx, { replyTo }) => ctx.reply(replyTo, 1),
    });
    for (let n = 0; n < MANY; n++) {
      const replyTo = here.replyAt({ node: boot(n), ref: 1 });
      here.deliver({ type: "call", from: undefined, to: here.address(echo), replyTo, message: { replyTo } });
    }
    expect(peersOf(here)).toBe(MANY);
    await here.idle();
    expect((here.kernel.remote as Remote).calls.answering).toBe(0);
    for (let n = 0; n < MANY; n++) here.nodeDown(boot(n).id);
    expect(peersOf(here)).toBe(0);
    await here.stop();
  });

  test("keeps of 10,000 nodes that were called and lost only those with a pid that is in use [N1150]", async () => {
    const gc = collector();
    const here = system();
    const calls: Promise<unknown>[] = [];
    const used: Pid<unknown>[] = [];
    for (let n = 0; n < MANY; n++) {
      const far = here.pidAt({ node: boot(n), id: 1 });
      calls.push(here.call(far, (replyTo: ReplyTo<number>) => replyTo).catch((error) => error.reason.type));
      if (n % 1_000 === 0) used.push(far);
    }
    for (let n = 0; n < MANY; n++) here.nodeDown(boot(n).id);
    expect(new Set(await Promise.all(calls))).toEqual(new Set(["noconnection"]));
    calls.length = 0;
    await vi.waitUntil(
      async () => {
        gc();
        await new Promise((resolve) => setImmediate(resolve));
        return peersOf(here) === used.length;
      },
      { timeout: 20_000 },
    );
    for (const [index, pid] of used.entries()) {
      expect(here.pidAt({ node: boot(index * 1_000), id: 1 })).toBe(pid);
      expect(here.pidAt({ node: boot(index * 1_000), id: 2 }).node).toBe(pid.node);
    }
    await here.stop();
  });

  test("ends a late call of a node whose loss it was told of before [N1150]", async () => {
    const replies: WireSignal[] = [];
    const here = system((signal) => void replies.push(signal));
    here.nodeDown(boot(1).id);
    const to = { node: here.node, id: 999 };
    const replyTo = here.replyAt({ node: boot(1), ref: 7 });
    here.deliver({ type: "call", from: { node: boot(1), id: 3 }, to, replyTo, message: replyTo });
    expect(replies).toMatchObject([{ type: "reply", to: { node: boot(1), ref: 7 } }]);
    await here.stop();
  });
});
