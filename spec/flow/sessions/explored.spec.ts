// Sessions under the simulator: hosts are killed at any step, on one host and on two, and every conversation ends as an undisturbed one
// does: nothing lost, doubled or out of order, and an error on one side reaches the other once.

import { type System, supervisor } from "signalbox";
import {
  defineFlow,
  type FlowContext,
  type FlowHost,
  flowHost,
  type Session,
  SessionEndedError,
  SessionPeerError,
  SessionRejectedError,
} from "signalbox/flow";
import type { MemorySource } from "signalbox/store";
import type { Simulation } from "signalbox/testing";
import { describe, expect, it } from "vitest";
import { explored } from "../../support/proof.js";

/** How a conversation goes: the asker sends, the other side answers each value, and one of them ends it. */
interface Script {
  readonly values: number;
  /** Who ends it after that many values, and how. */
  readonly end: "close" | "asker fails" | "answerer fails" | "rejected";
}

/** All that a side sees, in order: values, and the names of errors. */
type Sight = readonly (number | string)[];

/** The name of the error of a session. Other errors are the host's, or the flow's own. */
function sessionError(error: unknown): string {
  for (const known of [SessionEndedError, SessionPeerError, SessionRejectedError])
    if (error instanceof known) return known.name;
  throw error;
}

const answerer = defineFlow("answerer", { answers: "count" }, async (flow): Promise<Sight> => {
  const session = await flow.accept("count");
  const seen: (number | string)[] = [];
  try {
    for (;;) {
      const value = (await session.receive()) as number;
      if (value < 0) break;
      seen.push(value);
      await session.send(value * 10);
    }
  } catch (error) {
    seen.push(sessionError(error));
    // Once: what comes after is that the session is over.
    seen.push(await session.receive().then(String, sessionError));
    return seen;
  }
  throw new Error("as the script says");
});

const mute = defineFlow("mute", { answers: "count" }, async () => "mute");

async function asked(session: Session, { values, end }: Script): Promise<Sight> {
  const seen: (number | string)[] = [];
  // All are sent before the first answer is read.
  for (let i = 1; i <= values; i++) await session.send(i);
  for (let i = 1; i <= values; i++) seen.push((await session.receive()) as number);
  if (end === "asker fails") throw new Error(`saw ${seen.join()}`);
  if (end === "close") {
    await session.close();
    return seen;
  }
  await session.send(-1);
  for (let i = 0; i < 2; i++) seen.push(await session.receive().then(String, sessionError));
  return seen;
}

const asker = defineFlow("asker", async (flow: FlowContext, script: Script): Promise<Sight> => {
  let session: Session;
  try {
    session = await flow.session(script.end === "rejected" ? mute : answerer, "count");
  } catch (error) {
    return [sessionError(error)];
  }
  return asked(session, script);
});

/** What each side has seen in the end: the rules of a session, for this script. */
function meaning({ values, end }: Script): { readonly asker: unknown; readonly answerer: unknown } {
  const sent = Array.from({ length: values }, (_, i) => i + 1);
  const answers = sent.map((value) => value * 10);
  const over = SessionEndedError.name;
  const broken = SessionPeerError.name;
  switch (end) {
    case "close":
      return { asker: answers, answerer: [...sent, over, over] };
    case "asker fails":
      return { asker: `saw ${answers.join()}`, answerer: [...sent, broken, over] };
    case "answerer fails":
      return { asker: [...answers, broken, over], answerer: "as the script says" };
    case "rejected":
      return { asker: [SessionRejectedError.name], answerer: "mute" };
    default:
      return end satisfies never;
  }
}

async function hostOf(system: System, store: MemorySource): Promise<FlowHost> {
  const definition = flowHost({
    ...{ store, flows: [asker, answerer, mute], name: "flows" },
    limits: { idleMs: 50 },
  });
  const children = [{ id: "flows", start: definition }];
  await system.start(supervisor({ label: "root", intensity: 1_000, children }));
  return definition.at(system, "flows");
}

/** Repeats a request until a host answers it. */
async function insisted<T>(sim: Simulation, request: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await request();
    } catch (error) {
      if ((error as Error).name === "FlowFailedError") throw error;
      await sim.sleep(50);
    }
  }
}

async function conversed(sim: Simulation, hosts: readonly FlowHost[]): Promise<void> {
  const script: Script = {
    values: sim.choose(4, "values"),
    end: sim.oneOf(["close", "asker fails", "answerer fails", "rejected"], "end"),
  };
  const any = (): FlowHost => sim.oneOf(hosts as [FlowHost, ...FlowHost[]], "host");
  await insisted(sim, () => any().start(asker, script, { id: "s" }));
  const endOf = (id: string): Promise<unknown> =>
    insisted(sim, () => any().get(id).result({ timeoutMs: 5_000 })).catch(
      (error: Error) => (error.cause as Error).message,
    );
  const seen = { asker: await endOf("s"), answerer: await endOf("s/session count/answer") };
  expect(seen).toEqual(meaning(script));
  sim.sometimes(script.end, true);
}

const ENDS: readonly Script["end"][] = ["close", "asker fails", "answerer fails", "rejected"];

describe("a session of two flows", () => {
  it("on a host that is killed at any step ends as if nothing had been [U39]", async () => {
    await explored(
      async (sim) => {
        sim.calm();
        const host = await hostOf(sim.system({ name: "shop" }), sim.store());
        sim.storm();
        await conversed(sim, [host]);
      },
      {
        ...{ quick: 15, least: 40, seed: 21, share: 0.03, sometimes: ENDS },
        faults: {
          crash: [
            { of: "shop/root/**", atMost: 3, reason: "kill" },
            { of: "shop/root/flows", atMost: 1 },
          ],
        },
      },
    );
  });

  it("on two hosts of one store, of which either is killed at any step, ends as if nothing had been [U40]", async () => {
    await explored(
      async (sim) => {
        sim.calm();
        const source = sim.store({ shared: true });
        const hosts: FlowHost[] = [];
        for (const name of ["a", "b"]) hosts.push(await hostOf(sim.system({ name }), source));
        sim.storm();
        await conversed(sim, hosts);
      },
      {
        ...{ quick: 10, least: 25, seed: 22, share: 0.02, sometimes: ENDS },
        faults: {
          crash: [
            { of: ["a/root/**", "b/root/**"], atMost: 2, reason: "kill" },
            { of: ["a/root/flows", "b/root/flows"], atMost: 2, reason: "kill" },
          ],
        },
      },
    );
  });
});
