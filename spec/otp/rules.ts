// A naive interpreter of OTP's rules for processes on two nodes, made from its documents and not from this library: the
// signals of the reference manual (https://www.erlang.org/doc/reference_manual/processes.html) and the link protocol of
// the distribution (https://www.erlang.org/doc/apps/erts/erl_dist_protocol.html#link_protocol). The recorded scenarios
// of nodes.json hold it to what a BEAM does; the exhaustive search holds the library to it.

import type { NodeName, NodeOp, SignalOp } from "./trace.js";

type Signal =
  | { readonly type: "message"; readonly number: number }
  | { readonly type: "link" }
  | { readonly type: "unlink" | "unlink_ack"; readonly id: number }
  | { readonly type: "link_exit" | "exit"; readonly reason: string }
  | { readonly type: "monitor" | "demonitor"; readonly ref: string }
  /** A monitor and a request, one behind the other; and the answer to it. */
  | { readonly type: "call" | "reply"; readonly ref: string }
  | { readonly type: "down"; readonly ref: string; readonly reason: string };

/** A signal under way, with the names of the processes. */
interface Envelope {
  readonly from: string;
  readonly to: string;
  readonly signal: Signal;
}

interface Process {
  isAlive: boolean;
  isTrapping: boolean;
  /** By process: the link is active, or waits for the acknowledgement of the unlink of this number. */
  readonly links: Map<string, "active" | number>;
  /** The monitors that this process has, by ref: whom they watch. */
  readonly watching: Map<string, string>;
  /** The monitors that watch this process, by ref: whose they are. */
  readonly watchers: Map<string, string>;
  /** The monitors of these that are calls, and have not been answered. */
  readonly requests: Set<string>;
  /** The monitors that it has which are calls. */
  readonly calls: Set<string>;
}

interface Node {
  /** Its processes have not been told that the connection is lost. */
  isConnected: boolean;
  /** What it sends may arrive. Where this is false, each send is known to fail. */
  isReaching: boolean;
  /** Signals from the other node that have not arrived, oldest first. */
  arriving: Envelope[];
}

const other = (node: NodeName): NodeName => (node === "n1" ? "n2" : "n1");

export class Rules {
  readonly #homes: { readonly [process: string]: NodeName };
  readonly #nodes: { readonly [name in NodeName]: Node } = {
    n1: { isConnected: true, isReaching: true, arriving: [] },
    n2: { isConnected: true, isReaching: true, arriving: [] },
  };
  readonly #processes = new Map<string, Process>();
  readonly #owners = new Map<string, string>();
  #unlinks = 0;
  received: { [process: string]: unknown[][] } = {};
  died: { [process: string]: string } = {};

  constructor(homes: { readonly [process: string]: NodeName }) {
    this.#homes = homes;
  }

  isConnected(node: NodeName): boolean {
    return this.#nodes[node].isConnected;
  }

  isReaching(node: NodeName): boolean {
    return this.#nodes[node].isReaching;
  }

  /** How many signals are under way to this node. */
  underWayTo(node: NodeName): number {
    return this.#nodes[node].arriving.length;
  }

  isAlive(process: string): boolean {
    return this.#processes.get(process)?.isAlive === true;
  }

  /** The processes that this one is linked to, as it sees it. */
  linksOf(process: string): string[] {
    const links = this.#processes.get(process)?.links ?? [];
    return [...links].flatMap(([to, state]) => (state === "active" ? [to] : []));
  }

  /** Whether it waits for the acknowledgement of an unlink. */
  isUnlinking(process: string): boolean {
    const links = this.#processes.get(process)?.links ?? [];
    return [...links].some(([, state]) => state !== "active");
  }

  /** The monitors that it has, and those that watch it, without those of calls. */
  monitorsOf(process: string): string[] {
    const { watching, calls } = this.#processes.get(process) as Process;
    return [...watching.keys()].filter((ref) => !calls.has(ref));
  }

  watchersOf(process: string): string[] {
    const { watchers, requests } = this.#processes.get(process) as Process;
    return [...watchers.keys()].filter((ref) => !requests.has(ref));
  }

  /** The calls that it waits for, and those that it has to answer, oldest first. */
  callsOf(process: string): string[] {
    return this.isAlive(process) ? [...(this.#processes.get(process) as Process).calls] : [];
  }

  requestsOf(process: string): string[] {
    return this.isAlive(process) ? [...(this.#processes.get(process) as Process).requests] : [];
  }

  /** `gen_server:call`: a monitor, and a message with its reference, which is an alias. */
  call(from: string, to: string, ref: string): void {
    const process = this.#processes.get(from) as Process;
    process.watching.set(ref, to);
    process.calls.add(ref);
    this.#send({ from, to, signal: { type: "call", ref } });
  }

  /** The caller waits no more: a demonitor, which takes the alias with it. */
  giveUp(from: string, ref: string): void {
    const process = this.#processes.get(from) as Process;
    const to = process.watching.get(ref);
    process.watching.delete(ref);
    process.calls.delete(ref);
    if (to !== undefined) this.#send({ from, to, signal: { type: "demonitor", ref } });
  }

  /** Answers the oldest call. The caller's demonitor, which follows in OTP, would find nothing to end: so it is left out. */
  reply(from: string): void {
    const process = this.#processes.get(from) as Process;
    const [ref] = process.requests;
    const to = ref === undefined ? undefined : process.watchers.get(ref);
    if (ref === undefined || to === undefined) return;
    process.requests.delete(ref);
    process.watchers.delete(ref);
    this.#send({ from, to, signal: { type: "reply", ref } });
  }

  /** The oldest signal under way to this node arrives. */
  arrive(node: NodeName): void {
    const envelope = this.#nodes[node].arriving.shift();
    if (envelope !== undefined) this.#receive(envelope);
  }

  /** The connection ends for this node. Signals to it are lost; those from it may still arrive until it ends for the other. */
  fail(node: NodeName): void {
    this.#nodes[node].isReaching = false;
    this.#nodes[node].arriving = [];
  }

  /** The processes of this node learn that the connection is lost. */
  lose(node: NodeName): void {
    this.fail(node);
    this.#nodes[node].isConnected = false;
    const isFar = (name: string): boolean => this.#homes[name] !== node;
    for (const [name, process] of this.#processes) {
      if (isFar(name) || !process.isAlive) continue;
      for (const [ref, watcher] of process.watchers) {
        if (!isFar(watcher)) continue;
        process.watchers.delete(ref);
        process.requests.delete(ref);
      }
      for (const [ref, target] of process.watching)
        if (isFar(target))
          this.#receive({ from: target, to: name, signal: { type: "down", ref, reason: LOST } });
      for (const [to, state] of process.links) {
        if (!isFar(to)) continue;
        if (state === "active")
          this.#receive({ from: to, to: name, signal: { type: "link_exit", reason: LOST } });
        else process.links.delete(to);
      }
    }
  }

  heal(): void {
    for (const node of Object.values(this.#nodes)) {
      node.isConnected = true;
      node.isReaching = true;
    }
  }

  /** Carries out one operation of one process. */
  perform(op: SignalOp): "ok" | "skipped" {
    const [kind, actor] = op;
    if (kind === "spawn") return this.#spawn(actor, op[2]);
    const process = this.#processes.get(actor);
    if (process?.isAlive !== true) return "skipped";
    switch (kind) {
      case "die":
      case "crash":
        return this.#end(actor, op[2]);
      case "return":
        return this.#end(actor, "normal");
      case "trap":
        process.isTrapping = op[2];
        return "ok";
      case "demonitor":
        return this.#demonitor(actor, process, op[2]);
      default:
        return this.#processes.has(op[2]) ? this.#act(process, op) : "skipped";
    }
  }

  #act(
    process: Process,
    op: Extract<SignalOp, readonly [string, string, string, ...unknown[]]>,
  ): "ok" | "skipped" {
    const [kind, from, to] = op;
    const send = (signal: Signal): void => this.#send({ from, to, signal });
    switch (kind) {
      case "link":
        // A link to itself is none. One that is active is not made again.
        if (from === to || process.links.get(to) === "active") return "ok";
        process.links.set(to, "active");
        send({ type: "link" });
        return "ok";
      case "unlink":
        if (process.links.get(to) !== "active") return "ok";
        process.links.set(to, ++this.#unlinks);
        send({ type: "unlink", id: this.#unlinks });
        return "ok";
      case "monitor":
        if (this.#owners.has(op[3])) return "skipped";
        this.#owners.set(op[3], from);
        if (from === to) return "ok";
        process.watching.set(op[3], to);
        send({ type: "monitor", ref: op[3] });
        return "ok";
      case "exit_signal":
        send({ type: "exit", reason: op[3] });
        return "ok";
      case "send":
        send({ type: "message", number: op[3] });
        return "ok";
      case "burst":
        for (let number = 1; number <= op[3]; number++) send({ type: "message", number });
        send({ type: "exit", reason: op[4] });
        return "ok";
      default:
        throw new Error(`no rule for ${kind}`);
    }
  }

  #spawn(name: string, isTrapping: boolean): "ok" | "skipped" {
    if (this.#processes.has(name)) return "skipped";
    const tables = {
      links: new Map(),
      watching: new Map(),
      watchers: new Map(),
      requests: new Set<string>(),
      calls: new Set<string>(),
    };
    this.#processes.set(name, { isAlive: true, isTrapping, ...tables });
    return "ok";
  }

  #demonitor(from: string, process: Process, ref: string): "ok" | "skipped" {
    if (this.#owners.get(ref) !== from) return "skipped";
    const to = process.watching.get(ref);
    process.watching.delete(ref);
    if (to !== undefined) this.#send({ from, to, signal: { type: "demonitor", ref } });
    return "ok";
  }

  /** Within a node a signal arrives at once. To a node that is not connected, a link or a monitor is answered, all else is lost. */
  #send(envelope: Envelope): void {
    const { from, to, signal } = envelope;
    const here = this.#homes[from] as NodeName;
    if (this.#homes[to] === here) this.#receive(envelope);
    else if (!this.#nodes[here].isReaching) this.#refuse(envelope);
    else if (this.#nodes[other(here)].isReaching)
      this.#nodes[other(here)].arriving.push({ from, to, signal });
  }

  #refuse({ from, to, signal }: Envelope): void {
    const back = (answer: Signal): void => this.#receive({ from: to, to: from, signal: answer });
    if (signal.type === "link") back({ type: "link_exit", reason: LOST });
    if (signal.type === "monitor" || signal.type === "call")
      back({ type: "down", ref: signal.ref, reason: LOST });
    if (signal.type === "unlink") this.#processes.get(from)?.links.delete(to);
  }

  #receive({ from, to, signal }: Envelope): void {
    const process = this.#processes.get(to) as Process;
    const answer = (reply: Signal): void => this.#send({ from: to, to: from, signal: reply });
    if (!process.isAlive) {
      if (signal.type === "link") answer({ type: "link_exit", reason: "noproc" });
      if (signal.type === "monitor" || signal.type === "call")
        answer({ type: "down", ref: signal.ref, reason: "noproc" });
      if (signal.type === "unlink") answer({ type: "unlink_ack", id: signal.id });
      return;
    }
    const { links, watching, watchers, requests, calls } = process;
    switch (signal.type) {
      case "message":
        this.#note(to, ["msg", from, signal.number]);
        return;
      case "link":
        // While an unlink of ours is not acknowledged, the link was sent before that unlink arrived.
        if (!links.has(from)) links.set(from, "active");
        return;
      case "unlink":
        if (links.get(from) === "active") links.delete(from);
        answer({ type: "unlink_ack", id: signal.id });
        return;
      case "unlink_ack":
        if (links.get(from) === signal.id) links.delete(from);
        return;
      case "link_exit":
        if (links.get(from) !== "active") return;
        links.delete(from);
        this.#exited(to, process, from, signal.reason, signal.reason === "normal");
        return;
      case "exit":
        if (signal.reason === "kill") this.#end(to, "killed");
        // A normal exit signal of another one does nothing; of itself it ends the process.
        else this.#exited(to, process, from, signal.reason, signal.reason === "normal" && from !== to);
        return;
      case "monitor":
        watchers.set(signal.ref, from);
        return;
      case "call":
        watchers.set(signal.ref, from);
        requests.add(signal.ref);
        return;
      case "reply":
        // Without its monitor, the alias of the call is gone, and the reply is dropped.
        if (!watching.delete(signal.ref)) return;
        calls.delete(signal.ref);
        this.#note(to, ["REPLY", signal.ref]);
        return;
      case "demonitor":
        watchers.delete(signal.ref);
        requests.delete(signal.ref);
        return;
      case "down":
        calls.delete(signal.ref);
        if (watching.delete(signal.ref)) this.#note(to, ["DOWN", signal.ref, signal.reason]);
        return;
      default:
        signal satisfies never;
    }
  }

  #exited(to: string, { isTrapping }: Process, from: string, reason: string, isHarmless: boolean): void {
    if (isTrapping) this.#note(to, ["EXIT", from, reason]);
    else if (!isHarmless) this.#end(to, reason);
  }

  #end(name: string, reason: string): "ok" {
    const process = this.#processes.get(name) as Process;
    process.isAlive = false;
    this.died[name] = reason;
    // OTP gives DOWN and EXIT of one death no order. This one is that of the library: its calls end first and last.
    const { watching, watchers, requests, calls } = process;
    const down = (ref: string): void => {
      this.#send({ from: name, to: watchers.get(ref) as string, signal: { type: "down", ref, reason } });
    };
    const unwatch = (ref: string): void => {
      this.#send({ from: name, to: watching.get(ref) as string, signal: { type: "demonitor", ref } });
    };
    for (const ref of requests) down(ref);
    for (const ref of watching.keys()) if (!calls.has(ref)) unwatch(ref);
    for (const ref of watchers.keys()) if (!requests.has(ref)) down(ref);
    for (const [to, state] of process.links)
      if (state === "active") this.#send({ from: name, to, signal: { type: "link_exit", reason } });
    for (const ref of calls) unwatch(ref);
    return "ok";
  }

  #note(to: string, entry: unknown[]): void {
    this.received[to] = [...(this.received[to] ?? []), entry];
  }
}

const LOST = "noconnection";

/** Scenarios of two nodes by the rules alone. */
export class RulesRun {
  readonly #rules: Rules;

  constructor(homes: { readonly [process: string]: NodeName }) {
    this.#rules = new Rules(homes);
  }

  step(op: NodeOp): { [field: string]: unknown } {
    const rules = this.#rules;
    rules.received = {};
    rules.died = {};
    const results = op[0] === "together" ? op[1].map((one) => this.#perform(one)) : [this.#perform(op)];
    this.#settle();
    const isFine = results.every((result) => result === "ok");
    const result = isFine ? "ok" : op[0] === "together" ? results : results[0];
    const received = Object.entries(rules.received).filter(([name]) => rules.died[name] === undefined);
    return { result, received: Object.fromEntries(received), died: rules.died };
  }

  #perform(op: NodeOp): "ok" | "skipped" {
    const rules = this.#rules;
    const isConnected = rules.isConnected("n1") && rules.isConnected("n2");
    switch (op[0]) {
      case "cut":
        if (!isConnected) return "skipped";
        rules.lose(op[1]);
        return "ok";
      case "heal":
        if (isConnected) return "skipped";
        rules.heal();
        return "ok";
      case "together":
        throw new Error("operations that are carried out together do not nest");
      default:
        return rules.perform(op);
    }
  }

  /** What crosses when all have been carried out. If a node has lost the connection meanwhile, the other one learns of it first. */
  #settle(): void {
    const rules = this.#rules;
    const nodes = ["n1", "n2"] as const;
    if (nodes.some((node) => !rules.isConnected(node)))
      for (const node of nodes) if (rules.isConnected(node)) rules.lose(node);
    while (nodes.some((node) => rules.underWayTo(node) > 0)) for (const node of nodes) rules.arrive(node);
  }
}
