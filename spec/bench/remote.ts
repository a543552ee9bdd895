// Messages and calls between two nodes in one process: by reference, which is what the kernel itself adds, and over sessions and the codec.

import { type Context, type Pid, type Reply, type ReplyTo, remoteNodes, System } from "signalbox";
import { byReference, type Join, onPair, overWire, type Pair } from "./pairs.js";
import { median, type Program, runOnce, Stopwatch } from "./program.js";
import { Echo } from "./servers.js";

/** How many messages go out, or calls wait, before the other node gets its turn. */
const WINDOW = 256;

interface Item {
  readonly n: number;
  /** Asks for a sign that this and all before have arrived. */
  readonly tell?: Pid<"more"> | undefined;
}

/** Messages to another node, each a new object. One in a window is answered, so that the sender knows when to go on. */
function sends(join: Join, count: number, item: (n: number, tell: Pid<"more"> | undefined) => Item): Program {
  return onPair(join, count, ({ here, there, known, held }, done) => {
    let arrived = 0;
    const sink = known(
      there.spawn<Item>({
        handle: (ctx, { tell }) => {
          arrived++;
          if (tell !== undefined) ctx.send(tell, "more");
        },
      }),
    );
    let left = count;
    here.spawn<"more">({
      init: (ctx) => {
        sendWindow(ctx);
      },
      handle: (ctx) => {
        if (left > 0) sendWindow(ctx);
        else done(arrived);
      },
    });
    function sendWindow(ctx: Context<"more">): void {
      const last = Math.max(0, left - WINDOW);
      const tell = held(ctx.self);
      for (; left > last; left--) ctx.send(sink, item(left, left === last + 1 ? tell : undefined));
    }
  });
}

/** By reference. */
export const remoteSend = (count: number): Program => sends(byReference, count, (n, tell) => ({ n, tell }));

/** Over sessions and the codec. A small message is plain JSON, as most are. */
export const wireSend = (count: number): Program =>
  sends(overWire, count, (n, tell) => (tell === undefined ? { n } : { n, tell }));

type Ask = (value: number, next: (reply: Reply<number>) => void) => void;

/** Calls to another node, a window of them open at once. Each is made from the reply of one before. */
function calls(
  join: Join,
  count: number,
  asker: (pair: Pair) => Promise<(ctx: Context<never>) => Ask>,
): Program {
  return onPair(join, count, async (pair, done) => {
    const askOf = await asker(pair);
    let left = count;
    let answered = 0;
    pair.here.spawn<never>({
      init: (ctx) => {
        const ask = askOf(ctx);
        const next = (reply: Reply<number>): void => {
          if (!reply.ok) throw reply.error;
          if (++answered === count) done(answered);
          else if (left > 0) ask(left--, next);
        };
        for (let open = 0; open < WINDOW && left > 0; open++) ask(left--, next);
      },
      handle: () => undefined,
    });
  });
}

interface Question {
  readonly value: number;
  readonly replyTo: ReplyTo<number>;
}

/** Calls whose messages hold their reply addresses. */
const echo = async ({ there, known }: Pair): Promise<(ctx: Context<never>) => Ask> => {
  const pid = known(
    there.spawn<Question>({ handle: (ctx, { replyTo, value }) => ctx.reply(replyTo, value) }),
  );
  return (ctx) => (value, next) =>
    ctx.ask(pid, (replyTo: ReplyTo<number>): Question => ({ replyTo, value }), next);
};

/** Calls of a server. */
const echoServer = async ({ here, there, known }: Pair): Promise<(ctx: Context<never>) => Ask> => {
  const { pid } = await there.start(Echo);
  const ref = Echo.at(here, known(pid));
  return (ctx) => {
    const { ask } = ref.with({ from: ctx });
    return (value, next) => ask.echo(value, next);
  };
};

/** By reference. */
export const remoteCall = (count: number): Program => calls(byReference, count, echo);

/** Over sessions and the codec. */
export const wireCall = (count: number): Program => calls(overWire, count, echo);

/** The same of a server. */
export const wireServerCall = (count: number): Program => calls(overWire, count, echoServer);

/** Pairs of runs whose middle counts. */
const PAIRS = 5;

/** What a call costs, in sends, by the processor. Both take turns, so that a machine that grows slower meanwhile favours neither. */
function cost(call: Program, send: Program): Program {
  const count = PAIRS * (call.operations + send.operations);
  return {
    operations: count,
    expected: count,
    run: async () => {
      const times: number[] = [];
      for (let pair = 0; pair < PAIRS; pair++) {
        const [sent, called] = [await runOnce(send), await runOnce(call)];
        times.push((sent.perCpuSecond as number) / (called.perCpuSecond as number));
      }
      return { counted: count, figures: { times: median(times) } };
    },
  };
}

export const remoteCallCost = (count: number): Program => cost(remoteCall(count), remoteSend(count));
export const wireCallCost = (count: number): Program => cost(wireCall(count), wireSend(count));
export const wireServerCallCost = (count: number): Program => cost(wireServerCall(count), wireSend(count));

/** What the loss of a node costs the turn in which it comes, at so many processes, of which some are linked to a process there. */
export function nodeDown(processes: number, linked: number): Program {
  return {
    operations: 1,
    expected: linked,
    run: async () => {
      const system = new System({ report: false, transport: remoteNodes({ send: () => true }) });
      const node = { name: "there", id: "there" };
      let told = 0;
      await new Promise<void>((resolve) => {
        let left = processes;
        const far = system.pidAt({ node, id: 1 });
        for (let n = 0; n < processes; n++) {
          system.spawn<never>(
            {
              init: (ctx) => {
                if (n < linked) ctx.link(far);
                if (--left === 0) resolve();
              },
              handle: () => undefined,
              signal: () => void told++,
            },
            { trapExit: true },
          );
        }
      });
      await system.idle();
      const watch = new Stopwatch();
      system.nodeDown(node.id);
      const { wallMs } = watch.read();
      while (told < linked) await new Promise((resolve) => setImmediate(resolve));
      return { counted: told, figures: { ms: wallMs }, end: () => system.stop({ timeoutMs: 0 }) };
    },
  };
}
