// Sessions of flows that begin anew while they are open.

import { defineFlow, SessionEndedError, type SessionLeftError, SessionPeerError } from "signalbox/flow";
import { memory, StoreError, type WriteSet } from "signalbox/store";
import { describe, expect, it } from "vitest";
import { mail } from "../../../lib/flow/journal/tables.js";
import { sessions } from "../../../lib/flow/sessions/tables.js";
import { opened, watched } from "../defects/support.js";
import { bench } from "../runtime/bench.js";

/** Accepts one session after the other, and says what it received and how each ended. */
const listener = defineFlow("listener", async (flow, times: number) => {
  const heard: string[] = [];
  for (let i = 0; i < times; i++) {
    const session = await flow.accept("talk");
    try {
      for (;;) {
        heard.push(await session.receive<string>());
        await session.send("ok");
      }
    } catch (error) {
      const { cause } = error as SessionPeerError;
      heard.push(`${(error as Error).name}: ${(cause as SessionLeftError | undefined)?.code}`);
      const again = await session.receive<string>().catch((later: unknown) => later);
      if (error instanceof SessionPeerError) expect(again).toBeInstanceOf(SessionEndedError);
    }
  }
  return heard;
});

describe("a flow that begins anew with open sessions", () => {
  it("leaves them: the other side gets an error once, and later messages are not read [J29]", async () => {
    const talker = defineFlow("talker", async (flow, n: number) => {
      const session = await flow.session("l", "talk");
      await session.send(`one ${n}`);
      await session.receive<string>();
      await session.send(`two ${n}`);
      // The answer to the second value is not received.
      await flow.sleep("1 second");
      if (n < 3) return flow.continueAsNew(n + 1);
      await session.close();
      return "done";
    });
    await using b = await bench([listener, talker], { limits: { idleMs: 100 } });
    const l = await b.until(b.flows.start(listener, 3, { id: "l" }));
    const t = await b.until(b.flows.start(talker, 1, { id: "t" }));
    expect(await b.until(t.result())).toBe("done");
    const left = "SessionPeerError: ERR_SESSION_LEFT";
    expect(await b.until(l.result())).toEqual(
      [
        ["one 1", "two 1", left],
        ["one 2", "two 2", left],
        ["one 3", "two 3"],
      ]
        .flat()
        .concat("SessionEndedError: undefined"),
    );
    await b.clock.advance(5_000);
    const store = await opened(b.clock, b.store);
    expect(await b.until(store.scan(sessions, {}))).toEqual([]);
    // The answers that were not received. The end of the listener came when the talker had ended.
    const unread = await b.until(store.scan(mail, { index: "unread", after: 0 }));
    expect(unread.filter(({ id }) => !id.includes("/end/"))).toMatchObject([
      { topic: "session/t/session talk@2" },
    ]);
    await b.until(store.close());
  });

  it("tells the other side also when the store fails at that moment [J29]", async () => {
    const talker = defineFlow("talker", async (flow, n: number) => {
      if (n === 2) return "anew";
      const session = await flow.session("l", "talk");
      await session.send("one");
      return flow.continueAsNew(2);
    });
    let failures = 3;
    const store = watched(memory(), (method, [set]) => {
      const isFarewell = method === "commit" && (set as WriteSet).writes.some(({ type }) => type === "clear");
      if (isFarewell && failures-- > 0) throw new StoreError("no answer");
    });
    await using b = await bench([listener, talker], { store });
    const l = await b.until(b.flows.start(listener, 1, { id: "l" }));
    const t = await b.until(b.flows.start(talker, 1, { id: "t" }));
    expect(await b.until(t.result())).toBe("anew");
    expect(await b.until(l.result())).toEqual(["one", "SessionPeerError: ERR_SESSION_LEFT"]);
    expect(failures).toBeLessThan(0);
  });

  it("leaves questions that it has not accepted to its next run [J29]", async () => {
    const asker = defineFlow("asker", async (flow, _: undefined) => {
      const session = await flow.session("a", "talk");
      return session.receive<string>();
    });
    const answerer = defineFlow("answerer", async (flow, n: number) => {
      if (n === 1) {
        await flow.sleep("10 seconds");
        return flow.continueAsNew(2);
      }
      const session = await flow.accept("talk");
      await session.send(`run ${n}`);
      return "done";
    });
    await using b = await bench([asker, answerer]);
    await b.until(b.flows.start(answerer, 1, { id: "a" }));
    const asked = await b.until(b.flows.start(asker, undefined));
    expect(await b.until(asked.result())).toBe("run 2");
  });
});
