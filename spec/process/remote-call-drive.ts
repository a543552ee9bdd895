// Drives systems that are joined by a wire, and the model of their calls beside them. What differs between the two is an error.

import {
  CalleeExitedError,
  CallTimeoutError,
  type Context,
  type Pid,
  type Reply,
  type ReplyTo,
  type System,
  type WireSignal,
} from "signalbox";
import { testClock } from "signalbox/testing";
import { expect } from "vitest";
import type { Remote } from "../../lib/process/remote.js";
import { Wire } from "../support/wire.js";
import { CallModel, type ModelProcess, type Place, type Seen } from "./remote-call-model.js";

interface Answer {
  readonly n: number;
  readonly value: number;
}

interface Question {
  readonly n: number;
  readonly replyTo: ReplyTo<Answer>;
}

type Order = (ctx: Context<Message>) => void;
type Message = Question | Order;

const TIMEOUT_MS = 10;
const NAMES = ["a", "b", "c"];
const ENOUGH = new RangeError("enough");

/** What commands choose among. */
export interface Choice {
  readonly which: number;
  readonly other: number;
  readonly bits: number;
}

export type Act = "call" | "deliver" | "answer" | "pass" | "abort" | "exit" | "cut" | "notice" | "advance";

const chosen = <T>(among: readonly T[], which: number): T | undefined => among[which % among.length];

export class CallDrive {
  readonly model: CallModel = new CallModel(NAMES.length);
  /** What has happened in all runs, for a test that has to reach it. */
  readonly #seen: Map<string, number>;
  readonly #clock = testClock();
  readonly #wire = new Wire({ copies: true });
  readonly #systems: System[] = [];
  /** By the number of the process in the model. */
  readonly #pids: Pid<Message>[] = [];
  /** What each node knows them as. */
  readonly #known: Pid<Message>[][] = [];
  /** By the number of the place in the model. */
  readonly #places: ReplyTo<Answer>[] = [];
  readonly #aborts: AbortController[] = [];
  readonly #outcomes: string[][] = [];
  /** The numbers of calls by their references. */
  readonly #numbers = new Map<string, number>();
  #answers = 0;

  constructor(seen: Map<string, number>) {
    this.#seen = seen;
    this.#wire.held = true;
    this.#wire.passage = (from, to) =>
      this.model.passage(this.#systems.indexOf(from), this.#systems.indexOf(to));
    for (const name of NAMES)
      this.#systems.push(this.#wire.join(name, { environment: this.#clock.environment }));
    for (const node of this.model.nodes)
      for (const kind of ["prompt", "busy"] as const) this.#spawn(node, kind);
  }

  async act(what: Act, choice: Choice): Promise<void> {
    await ACTS[what](this, choice);
    await this.check();
  }

  /** All signals arrive, all losses are noticed, and all requests are answered: then nothing is kept. */
  async finish(): Promise<void> {
    const { model } = this;
    for (const from of model.nodes)
      for (const to of model.nodes) if (model.passage(from, to) === "silent") await this.notice(from, to);
    await this.#deliverAll();
    for (const place of model.places) if (model.isOpen(place)) await this.answer(place, false);
    for (const process of model.processes.filter(({ alive, kind }) => alive && kind === "busy"))
      await this.exit(process);
    await this.#deliverAll();
    await this.check();
    expect(this.#outcomes.filter((heard, n) => heard.length !== 1 && model.calls[n]?.isHeard)).toEqual([]);
    expect(this.#systems.map(tablesOf)).toEqual(NAMES.map(() => [0, 0]));
    for (const system of this.#systems) await this.#clock.until(system.stop());
  }

  /** Everything that a test can see is as the model says. */
  async check(): Promise<void> {
    await this.#clock.settle();
    const { model } = this;
    const { nodes, processes } = model;
    expect(this.#outcomes).toEqual(model.calls.map(({ end, isHeard }) => (end && isHeard ? [end] : [])));
    expect(this.#systems.map(tablesOf)).toEqual(
      nodes.map((node) => [model.open(node), model.answering(node)]),
    );
    expect(this.#places.map((replyTo) => replyTo.open)).toEqual(
      model.places.map((place) => model.isOpen(place)),
    );
    expect(this.#systems.map(({ events }) => events.discardedReplies)).toEqual(model.discarded);
    for (const [number, process] of processes.entries()) {
      if (process.kind !== "busy" || !process.alive) continue;
      const queued = this.#system(process.node).info(this.#pid(process))?.mailboxDepth;
      expect([number, queued]).toEqual([number, model.queuedAt(process)]);
    }
    for (const from of nodes) {
      for (const to of nodes) {
        const there = this.#wire.waiting(this.#system(from), this.#system(to));
        expect(there.map(({ type }) => type).sort()).toEqual(
          model
            .wire(from, to)
            .map(({ type }) => type)
            .sort(),
        );
      }
    }
  }

  // ── commands ──────────────────────────────────────────────────────────────────────────────────────────────────

  async call({ which, other, bits }: Choice): Promise<void> {
    const { model } = this;
    const n = model.calls.length;
    const node = which % NAMES.length;
    const strangers = model.processes.filter((process) => process.node !== node);
    const alive = strangers.filter((process) => process.alive);
    const callee = chosen(bits % 8 === 0 ? strangers : alive, other) as ModelProcess;
    const has = (bit: number): boolean => (bits & bit) !== 0;
    const owner = has(8) ? this.#prompt(node) : undefined;
    const timeoutMs = has(16) ? TIMEOUT_MS : Number.POSITIVE_INFINITY;
    const withdraws = !(has(32) && has(64));
    const keeps = has(128) && has(256);
    const others = alive.filter(({ kind }) => kind === "prompt");
    const ahead = has(512) && has(1024) ? chosen(others, bits) : undefined;
    model.call({ node, owner, callee, deadline: model.now + timeoutMs, withdraws }, keeps, ahead);
    const heard: string[] = [];
    this.#outcomes.push(heard);
    const abort = new AbortController();
    this.#aborts.push(abort);
    const system = this.#system(node);
    const to = this.#far(callee, node);
    const options = { timeoutMs, withdraw: withdraws, signal: abort.signal };
    const build = (replyTo: ReplyTo<Answer>): Question => {
      if (keeps) this.#places.push(replyTo);
      if (ahead !== undefined) system.send(this.#far(ahead, node), { n, replyTo });
      return { n, replyTo };
    };
    const hear = (text: string): void => {
      heard.push(text);
      this.#saw(text.replace(/\d+/, "").trim());
    };
    if (owner === undefined) {
      system.call(to, build, options).then(
        (value) => hear(toldOf({ ok: true, value })),
        (error) => hear(toldOf({ ok: false, error })),
      );
    } else await this.#run(owner, (ctx) => ctx.ask(to, build, (reply) => hear(toldOf(reply)), options));
    const signal = this.#wire.log.findLast(({ type }) => type === "call") as WireSignal & { type: "call" };
    if (signal !== undefined && (signal.message as Question).n === n)
      this.#numbers.set(`${system.node.id} ${system.replyAddress(signal.replyTo).ref}`, n);
  }

  async answer(place: Place, refuses: boolean): Promise<void> {
    const value = ++this.#answers;
    const replyTo = this.#places[this.model.places.indexOf(place)] as ReplyTo<Answer>;
    const { n } = place.call;
    if (!this.model.isOpen(place)) this.#saw("second answer");
    this.model.answer(place, `${refuses ? "refused" : "replied"} ${value}`);
    await this.#run(this.#prompt(place.node), (ctx) => {
      if (refuses) ctx.refuse(replyTo as ReplyTo<never>, new RangeError(`${n} ${value}`));
      else ctx.reply(replyTo, { n, value });
    });
  }

  async pass(place: Place, other: number): Promise<void> {
    const { node, call } = place;
    const to = this.#prompt(
      chosen(
        this.model.nodes.filter((one) => one !== node),
        other,
      ) as number,
    );
    const replyTo = this.#places[this.model.places.indexOf(place)] as ReplyTo<Answer>;
    this.model.pass(place, to);
    this.#saw("passed on");
    const far = this.#far(to, node);
    await this.#run(this.#prompt(node), (ctx) => ctx.send(far, { n: call.n, replyTo }));
  }

  abort(n: number): void {
    this.model.abort(this.model.calls[n] as never);
    this.#aborts[n]?.abort(ENOUGH);
  }

  async exit(process: ModelProcess): Promise<void> {
    this.model.exit(process);
    this.#system(process.node).exit(this.#pid(process), "kill");
    await this.#clock.settle();
    this.#spawn(process.node, process.kind);
  }

  cut(a: number, b: number): void {
    this.model.cut(a, b);
    const [one, other] = [this.#system(a), this.#system(b)];
    this.#wire.lose(one, other);
    this.#wire.lose(other, one);
  }

  async notice(node: number, other: number): Promise<void> {
    this.#system(node).nodeDown(this.#system(other).node.id);
    await this.#clock.settle();
    this.model.notice(node, other);
  }

  async deliver(from: number, to: number): Promise<void> {
    const [one, other] = [this.#system(from), this.#system(to)];
    const [signal] = this.#wire.waiting(one, other);
    if (signal === undefined) throw new Error(`nothing is on the wire from ${NAMES[from]} to ${NAMES[to]}`);
    const seen = this.#look(signal);
    expect([seen, this.model.deliver(from, to, seen)]).toEqual([seen, true]);
    this.#wire.deliver(one, other);
    await this.#clock.settle();
  }

  async advance(ms: number): Promise<void> {
    this.model.advance(ms);
    await this.#clock.advance(ms);
  }

  // ── parts ─────────────────────────────────────────────────────────────────────────────────────────────────────

  async #deliverAll(): Promise<void> {
    for (let some = true; some; ) {
      some = false;
      for (const from of this.model.nodes) {
        for (const to of this.model.nodes) {
          while (this.model.wire(from, to).length > 0) {
            some = true;
            await this.deliver(from, to);
          }
        }
      }
    }
  }

  #look(signal: WireSignal): Seen {
    switch (signal.type) {
      case "call":
      case "message":
        return { type: signal.type, n: (signal.message as Question).n, says: "" };
      case "cancel":
        return { type: "cancel", n: this.#numberOf(signal.replyTo), says: "" };
      case "reply": {
        const { outcome, to } = signal;
        if ("exited" in outcome) {
          const fate = outcome.isUntaken ? "withdrawn" : "taken";
          return {
            type: "reply",
            n: this.#numberOf(to),
            says: `callee-exited ${outcome.exited.type} ${fate}`,
          };
        }
        return {
          type: "reply",
          n: numberIn(outcome as Reply<Answer>),
          says: toldOf(outcome as Reply<Answer>),
        };
      }
      default:
        throw new Error(`a signal ${signal.type} is not about calls`);
    }
  }

  #numberOf({ node, ref }: { readonly node: { readonly id: string }; readonly ref: number }): number {
    return this.#numbers.get(`${node.id} ${ref}`) ?? -1;
  }

  #spawn(node: number, kind: ModelProcess["kind"]): void {
    this.model.spawn(node, kind);
    const handle = (ctx: Context<Message>, message: Message): void => {
      if (typeof message === "function") message(ctx);
      else this.#places.push(message.replyTo);
    };
    const init = (): Promise<void> => new Promise(() => undefined);
    const system = this.#system(node);
    const pid = system.spawn<Message>(kind === "busy" ? { init, handle } : { handle });
    this.#pids.push(pid);
    this.#known.push(this.#systems.map((one) => one.pidAt(system.address(pid)) as Pid<Message>));
  }

  /** Runs an order in a process. */
  async #run(process: ModelProcess, order: Order): Promise<void> {
    this.#system(process.node).send(this.#pid(process), order);
    await this.#clock.settle();
  }

  #system(node: number): System {
    return this.#systems[node] as System;
  }

  #pid(process: ModelProcess): Pid<Message> {
    return this.#pids[this.model.processes.indexOf(process)] as Pid<Message>;
  }

  #far(process: ModelProcess, node: number): Pid<Message> {
    return this.#known[this.model.processes.indexOf(process)]?.[node] as Pid<Message>;
  }

  #prompt(node: number): ModelProcess {
    return this.model.processes.find(
      (one) => one.node === node && one.kind === "prompt" && one.alive,
    ) as ModelProcess;
  }

  #saw(what: string): void {
    this.#seen.set(what, (this.#seen.get(what) ?? 0) + 1);
  }
}

/** What each command does with what it chooses. One that finds nothing to choose does nothing. */
const ACTS: Readonly<Record<Act, (drive: CallDrive, choice: Choice) => Promise<void> | void>> = {
  call: (drive, choice) => drive.call(choice),
  deliver(drive, { which }) {
    const wires = pairs(drive, (from, to) => drive.model.wire(from, to).length > 0);
    const wire = chosen(wires, which);
    return wire && drive.deliver(...wire);
  },
  answer(drive, { which, bits }) {
    const place = chosen(drive.model.places, which);
    return place && drive.answer(place, bits % 4 === 0);
  },
  pass(drive, { which, other }) {
    const place = chosen(drive.model.places, which);
    return place && drive.pass(place, other);
  },
  abort(drive, { which }) {
    const call = chosen(drive.model.calls, which);
    return call && drive.abort(call.n);
  },
  exit(drive, { which }) {
    const process = chosen(
      drive.model.processes.filter(({ alive }) => alive),
      which,
    );
    return process && drive.exit(process);
  },
  cut(drive, { which }) {
    const { model } = drive;
    const isOpen = (a: number, b: number) => model.passage(a, b) === "open" && model.passage(b, a) === "open";
    const pair = chosen(pairs(drive, isOpen), which);
    return pair && drive.cut(...pair);
  },
  notice(drive, { which }) {
    const pair = chosen(
      pairs(drive, (from, to) => drive.model.passage(from, to) === "silent"),
      which,
    );
    return pair && drive.notice(...pair);
  },
  advance: (drive, { which }) => drive.advance(1 + (which % TIMEOUT_MS)),
};

function pairs(
  { model: { nodes } }: CallDrive,
  are: (from: number, to: number) => boolean,
): [number, number][] {
  return nodes.flatMap((from) =>
    nodes.filter((to) => to !== from && are(from, to)).map((to): [number, number] => [from, to]),
  );
}

/** The open calls of a system: those that it made to other nodes, and those of other nodes. */
function tablesOf(system: System): [open: number, answering: number] {
  const { calls } = system.kernel.remote as Remote;
  return [calls.open, calls.answering];
}

function numberIn(reply: Reply<Answer>): number {
  return reply.ok ? reply.value.n : Number.parseInt((reply.error as Error).message, 10);
}

/** The end of a call in the words of the model. */
function toldOf(reply: Reply<Answer>): string {
  if (reply.ok) return `replied ${reply.value.value}`;
  const { error } = reply;
  if (error === ENOUGH) return "aborted";
  if (error instanceof CalleeExitedError) return `callee-exited ${error.reason.type} ${error.request}`;
  if (error instanceof CallTimeoutError) return `timeout ${error.request}`;
  return error instanceof RangeError ? `refused ${error.message.split(" ")[1]}` : String(error);
}
