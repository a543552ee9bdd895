// The faults of the table in docs/guide/nodes.md. Each strikes the far node of a pair, and resolves when all has happened that will.

import type { NatsServer } from "../../../support/nats.js";
import type { Silence } from "../../loopback.js";
import type { Pair } from "./pair.js";
import type { View } from "./words.js";

/** What the two nodes have seen in the end, and what they did after the fault. */
export interface Sight {
  readonly near: View;
  /** Undefined when the far node is gone. */
  readonly far: View | undefined;
  /** The node of the far process, as the near node found it while the fault lasted, and after it. */
  readonly found: { readonly before: string; readonly during: string | undefined; readonly after?: string };
  /** The token of the far node's singleton before the fault. */
  readonly token: number;
  /** The answer of the far process to a call after the fault. */
  readonly answer?: string;
  /** What became of a write of the far node under the lease that it had. */
  readonly write?: string;
}

/** Numbers of messages to the far node: before the fault, at once after it, after it was noticed, after the nodes met again. */
export const SENT = { before: [0, 10], at: [10, 20], noticed: [20, 30], after: [30, 40] } as const;

/** The near node sends while the fault is new, notices, and sends again. */
async function noticed({ near }: Pair, also: (view: View) => boolean = () => true): Promise<void> {
  await near.ask("send", ...SENT.at);
  await near.sees(
    "the loss",
    ({ signals, calls, ends, group }) =>
      signals.length === 2 && calls.length === 1 && ends.length === 1 && group.join() === "near",
  );
  await near.ask("send", ...SENT.noticed);
  await near.sees("dead letters", ({ dead }) => dead.length === 20);
  await near.sees("all else", also);
}

/** The singleton has moved to the near node. */
const moved = ({ tokens }: View): boolean => tokens.length === 1;

/** What the far node sees of a fault that it survives. */
function farNoticed({ far }: Pair): Promise<void> {
  return far.sees(
    "the loss",
    ({ signals, calls, ends }) => signals.length === 2 && calls.length === 1 && ends.length === 1,
  );
}

/** The nodes have met again: they use each other. */
async function together(pair: Pair): Promise<{ readonly after: string; readonly answer: string }> {
  const { near, far } = pair;
  await pair.met();
  await near.ask("send", ...SENT.after);
  await far.sees("messages", ({ got }) => got.includes(39));
  const before = (await near.view()).ends.length;
  await near.ask("dispatch", far.name, "nobody");
  await near.sees("a reply", ({ ends }) => ends.length > before);
  const answer = await near.ask<string>("ask");
  await near.ask("link");
  for (const one of pair.both) await one.sees("a new link", ({ links }) => links === 1);
  return { after: (await near.ask<string>("find")) as string, answer };
}

type Fault = (pair: Pair) => Promise<Sight>;

async function views({ near, far }: Pair): Promise<{ readonly near: View; readonly far: View }> {
  return { near: await near.view(), far: await far.view() };
}

/** What the test compares with. */
async function beforehand({ near, far }: Pair): Promise<{ readonly before: string; readonly token: number }> {
  const [token] = (await far.view()).tokens as [number];
  return { before: await near.ask<string>("find"), token };
}

export const killed: Fault = async (pair) => {
  const { before, token } = await beforehand(pair);
  pair.far.signal("SIGKILL");
  await pair.far.ended();
  await noticed(pair, moved);
  const during = await pair.near.ask<string | undefined>("find");
  return { near: await pair.near.view(), far: undefined, token, found: { before, during } };
};

/** In order: its system stops. */
export const stopped: Fault = async (pair) => {
  const { before, token } = await beforehand(pair);
  await pair.far.ask("stop");
  await noticed(pair, moved);
  await pair.far.ended();
  const during = await pair.near.ask<string | undefined>("find");
  return { near: await pair.near.view(), far: undefined, token, found: { before, during } };
};

/** Both nodes go on without each other. The far one is cut off from the store of leases, too. */
export function cut(which: Silence): Fault {
  return async (pair) => {
    const { before, token } = await beforehand(pair);
    pair.far.silence(which);
    await pair.far.ask("send", ...SENT.at);
    await noticed(pair, moved);
    await farNoticed(pair);
    await pair.far.sees("the lease is lost", ({ lost }) => lost.length === 1);
    const during = await pair.near.ask<string | undefined>("find");
    return { ...(await views(pair)), token, found: { before, during } };
  };
}

export const healed: Fault = async (pair) => {
  const cutOff = await cut("both")(pair);
  await pair.far.open();
  const { after, answer } = await together(pair);
  const write = await pair.far.ask<string>("write");
  return { ...(await views(pair)), token: cutOff.token, found: { ...cutOff.found, after }, answer, write };
};

/** Killed, and started again under the same name. */
export const restarted: Fault = async (pair) => {
  const dead = await killed(pair);
  await pair.far.start(pair.near.name);
  // The near node still has the pid of the process that was killed.
  await pair.near.ask("send", 40, 50);
  await pair.near.sees("dead letters", ({ dead: letters }) => letters.length === 30);
  const { after, answer } = await together(pair);
  return { ...(await views(pair)), token: dead.token, found: { ...dead.found, after }, answer };
};

export const suspended: Fault = async (pair) => {
  const { before, token } = await beforehand(pair);
  pair.far.signal("SIGSTOP");
  await noticed(pair, moved);
  const during = await pair.near.ask<string | undefined>("find");
  pair.far.signal("SIGCONT");
  await farNoticed(pair);
  await pair.far.sees("the lease is lost", ({ lost }) => lost.length === 1);
  const { after, answer } = await together(pair);
  const write = await pair.far.ask<string>("write");
  return { ...(await views(pair)), token, found: { before, during, after }, answer, write };
};

/** Messages of this size are more than may wait for a node, when there are so many. */
export const LARGE = { from: 100, to: 300, size: 10_000 } as const;

/** Its thread is busy for most of the time. */
export const slowed: Fault = async (pair) => {
  const { near, far } = pair;
  const { before, token } = await beforehand(pair);
  await far.ask("slow", 100);
  await near.ask("send", LARGE.from, LARGE.to, LARGE.size);
  await near.ask("send", ...SENT.after);
  await near.ask("dispatch", far.name, "nobody");
  await near.sees("a reply", ({ ends }) => ends.length === 1);
  const during = await near.ask<string | undefined>("find");
  const answer = await near.ask<string>("ask");
  await far.sees("all messages", ({ got }) => got.includes(LARGE.from));
  const refused = async (): Promise<number> => (await near.view()).dead.length;
  const all = LARGE.to - LARGE.from + 20 - (await refused());
  await far.sees("all messages", ({ got }) => got.length >= all);
  return { ...(await views(pair)), token, found: { before, during }, answer };
};

export function serverRestarted(server: NatsServer): Fault {
  return async (pair) => {
    const { before, token } = await beforehand(pair);
    await server.kill();
    await noticed(pair);
    await farNoticed(pair);
    const during = await pair.near.ask<string | undefined>("find");
    await server.start();
    const { after, answer } = await together(pair);
    const write = await pair.far.ask<string>("write");
    return { ...(await views(pair)), token, found: { before, during, after }, answer, write };
  };
}
