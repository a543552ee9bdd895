// A node that has one of everything: a process that is linked, monitored and called, a consumer, a name and a singleton. It does what the
// test asks, and tells what it has seen.

import { ConsumerGroup, consumer, type Pid, type ReplyTo, System } from "signalbox";
import { joinCluster, type Lease, nats, singleton } from "signalbox/nodes";
import { defineTable, openStore, postgres } from "signalbox/store";
import type { Answer, DispatchEnd, Question, View, WitnessOptions } from "./words.js";

const options = JSON.parse(process.argv[2] ?? "") as WitnessOptions;
const { name, other, cluster } = options;
const rows = defineTable("rows", { columns: { id: "text" }, key: ["id"] });

const system = new System({ name, report: false });
const store = await openStore(system, postgres(options.postgres, { schema: options.place }), [
  { name: "witness", version: 1, tables: [rows] },
]);
const node = await joinCluster(
  system,
  nats({
    servers: options.servers,
    cluster,
    presenceMs: 200,
    connection: { reconnectTimeWait: 50, pingInterval: 500, timeout: 2_000 },
  }),
  { limitMs: options.limitMs, queueBytes: options.queueBytes, windowSize: options.queueBytes / 4 },
);

const seen = {
  signals: [] as string[],
  calls: [] as string[],
  got: [] as number[],
  dead: [] as number[],
  ends: [] as DispatchEnd[],
  held: [] as string[],
  tokens: [] as number[],
  lost: [] as number[],
  downs: [] as string[],
};
system.events.on("nodeDown", ({ reason, by }) => void seen.downs.push(`${reason} ${by}`));
system.events.on("deadLetter", ({ message }) => {
  const n = (message as { readonly n?: unknown } | undefined)?.n;
  if (typeof n === "number") seen.dead.push(n);
});

/** What the process of a node is sent. */
type Word =
  | { readonly n: number; readonly text?: string }
  | { readonly tie: Pid }
  | { readonly ask: "silence" | "answer"; readonly replyTo: ReplyTo<string> };

/** The process that the other node links to, monitors, calls and sends to. */
const mark = system.spawn<Word>(
  {
    handle: (ctx, word) => {
      if ("n" in word) seen.got.push(word.n);
      else if ("tie" in word) {
        ctx.link(word.tie);
        ctx.monitor(word.tie);
      } else if (word.ask === "answer") ctx.reply(word.replyTo, `${name} ${system.node.id}`);
    },
    signal: (_ctx, signal) => {
      if ("reason" in signal) seen.signals.push(`${signal.type} ${signal.reason.type}`);
    },
  },
  { name: markOf(name), trapExit: true },
);
/** The process of the other node, as it was found last. */
let target: Pid<Word> | undefined;

/** An envelope names the node whose consumer keeps it without an answer. */
const group = new ConsumerGroup<string, string>({ name: "work", scope: node });
const worker = consumer(
  (keptBy: string) => {
    if (keptBy !== name) return name;
    seen.held.push(keptBy);
    return new Promise<string>(() => undefined);
  },
  { concurrency: 8 },
);
group.join(system.spawn(worker), { id: name });
/** Whom dispatches of this node go to, if it is there. */
let preferred: string | undefined;
group.route = (_envelope, consumers) => consumers.find(({ id }) => id === preferred) ?? consumers[0];

let lease: Lease | undefined;
const billing = singleton(system, {
  name: "billing",
  lease: store,
  ttlMs: options.ttlMs,
  start: async (ctx, held) => {
    lease = held;
    seen.tokens.push(held.token);
    held.lost.addEventListener("abort", () => seen.lost.push(held.token));
    while (ctx.alive) await ctx.receive();
  },
});
await system.start(billing);

function markOf(one: string): string {
  return `mark of ${one}`;
}

function call(ask: "silence" | "answer", to: Pid<Word>): Promise<string> {
  return system
    .call(to, (replyTo: ReplyTo<string>): Word => ({ ask, replyTo }), { timeoutMs: Number.POSITIVE_INFINITY })
    .catch((error: { readonly code?: string; readonly reason?: { readonly type: string } }) => {
      return `${error.code} ${error.reason?.type}`;
    });
}

function there(): Pid<Word> {
  if (target === undefined) throw new Error(`${name} has not found ${other}`);
  return target;
}

const ACTS = {
  view: (): View => ({
    ...seen,
    links: system.info(mark)?.links.length ?? 0,
    group: group.consumers.map(({ id }) => id).sort(),
    nodes: node.nodes().length,
    isHeld: lease?.isHeld ?? false,
  }),
  /** Finds the process of the other node. */
  find: async () => {
    const found = (await node.whereis(markOf(other)).catch(() => undefined)) as Pid<Word> | undefined;
    // A pid of a node that is gone is used on purpose.
    target = found ?? target;
    return found?.node.id;
  },
  /** Links to it, monitors it, and calls it without getting an answer. */
  tie: () => {
    system.send(mark, { tie: there() as Pid });
    void call("silence", there()).then((end) => void seen.calls.push(end));
  },
  link: () => system.send(mark, { tie: there() as Pid }),
  ask: () => call("answer", there()),
  /** Sends messages with numbers, all in one turn. */
  send: (from: number, to: number, size = 0) => {
    for (let n = from; n < to; n++) system.send(there(), { n, text: "x".repeat(size) });
  },
  /** Dispatches to a consumer, if that is there, which keeps the envelope if it is told to. */
  dispatch: (first: string | undefined, keptBy: string) => {
    preferred = first;
    const forever = { deadlineMs: Number.POSITIVE_INFINITY, patienceMs: 60_000 };
    void system.dispatch(group, keptBy, forever).then(
      ({ reply, deliveredTo, reroutedFrom }) => seen.ends.push({ reply, deliveredTo, reroutedFrom }),
      ({ code }: { readonly code: string }) => seen.ends.push({ code }),
    );
  },
  /** Writes under the lease that it has, or had. */
  write: () =>
    store.commit({ claim: lease as Lease, writes: [{ type: "put", table: rows, row: { id: name } }] }).then(
      () => "written",
      ({ code }: { readonly code: string }) => code,
    ),
  /** Its thread works for others most of the time, in turns of this length. */
  slow: (turnMs: number) => {
    const cell = new Int32Array(new SharedArrayBuffer(4));
    setInterval(() => Atomics.wait(cell, 0, 0, turnMs), turnMs / 10);
  },
  /** Its thread does nothing any more. */
  hang: () => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0),
  stop: async () => {
    await system.stop();
    // The store is the program's to close, and this program ends.
    setImmediate(() => process.exit(0));
  },
};

process.on("message", async ({ id, act, args }: Question) => {
  const answer: Answer = await Promise.resolve()
    .then(() => (ACTS[act as keyof typeof ACTS] as (...given: readonly unknown[]) => unknown)(...args))
    .then(
      (value) => ({ id, value }),
      (error: unknown) => ({ id, error: String(error) }),
    );
  process.send?.(answer);
});
process.send?.({ id: 0, value: "ready" } satisfies Answer);
