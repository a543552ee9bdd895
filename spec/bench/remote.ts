// Between two nodes in one process, whose transport passes signals by reference: what the kernel itself adds, without a codec.

import { type Context, type Pid, type Reply, type ReplyTo, remoteNodes, System } from "signalbox";
import { median, type Program, type Run, runOnce, Stopwatch } from "./program.js";

/** How many messages go out, or calls wait, before the other node gets its turn. */
const WINDOW = 256;

interface Pair {
  readonly here: System;
  readonly there: System;
  /** The process of the other node, as this one knows it. */
  known<M>(pid: Pid<M>): Pid<M>;
}

function onPair(operations: number, work: (pair: Pair, done: (counted: number) => void) => void): Program {
  return {
    operations,
    expected: operations,
    run: async (): Promise<Run> => {
      const nodes = new Map<string, System>();
      const transport = remoteNodes({
        send: ({ id }, signal) => {
          nodes.get(id)?.deliver(signal);
          return true;
        },
      });
      const [here, there] = ["here", "there"].map((name) => {
        const system = new System({ name, report: false, transport });
        nodes.set(system.node.id, system);
        return system;
      }) as [System, System];
      const known = <M>(pid: Pid<M>): Pid<M> => here.pidAt(there.address(pid)) as Pid<M>;
      const counted = await new Promise<number>((resolve) => work({ here, there, known }, resolve));
      const end = async (): Promise<void> => {
        await here.stop();
        await there.stop();
      };
      return { counted, end };
    },
  };
}

interface Item {
  readonly n: number;
  /** Asks for a sign that this and all before have arrived. */
  readonly tell: Pid<"more"> | undefined;
}

/** Messages to another node, each a new object. One in a window is answered, so that the sender knows when to go on. */
export function remoteSend(count: number): Program {
  return onPair(count, ({ here, there, known }, done) => {
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
      const tell = there.pidAt(here.address(ctx.self)) as Pid<"more">;
      for (; left > last; left--) ctx.send(sink, { n: left, tell: left === last + 1 ? tell : undefined });
    }
  });
}

interface Question {
  readonly value: number;
  readonly replyTo: ReplyTo<number>;
}

/** Calls to another node, a window of them open at once. Each is made from the reply of one before. */
export function remoteCall(count: number): Program {
  return onPair(count, ({ here, there, known }, done) => {
    const echo = known(
      there.spawn<Question>({ handle: (ctx, { replyTo, value }) => ctx.reply(replyTo, value) }),
    );
    let left = count;
    let answered = 0;
    here.spawn<never>({
      init: (ctx) => {
        const next = (reply: Reply<number>): void => {
          if (!reply.ok) throw reply.error;
          if (++answered === count) done(answered);
          else if (left > 0) ask();
        };
        const ask = (): void => {
          const value = left--;
          ctx.ask(echo, (replyTo: ReplyTo<number>): Question => ({ replyTo, value }), next);
        };
        for (let open = 0; open < WINDOW && left > 0; open++) ask();
      },
      handle: () => undefined,
    });
  });
}

/** Pairs of runs whose middle counts. */
const PAIRS = 5;

/** What a call costs, in sends. Both take turns, so that a machine that grows slower meanwhile favours neither. */
export function remoteCallCost(count: number): Program {
  const [send, call] = [remoteSend(count), remoteCall(count)];
  return {
    operations: 2 * PAIRS * count,
    expected: 2 * PAIRS * count,
    run: async () => {
      const times: number[] = [];
      for (let pair = 0; pair < PAIRS; pair++) {
        const [sent, called] = [await runOnce(send), await runOnce(call)];
        times.push((sent.perCpuSecond as number) / (called.perCpuSecond as number));
      }
      return { counted: 2 * PAIRS * count, figures: { times: median(times) } };
    },
  };
}

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
