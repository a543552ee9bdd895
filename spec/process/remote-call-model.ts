// The rules of calls between nodes (decision 0222, rows N951 to N954 of docs/semantics.md) as a naive model: lists that are searched,
// and no word of how the code keeps them.

/** How signals from one node to another fare: they arrive, are lost unnoticed, or are refused because the loss is noticed. */
export type Passage = "open" | "silent" | "out";

/** A process: `prompt` takes each request at once, and answers when a command says so; `busy` never takes one. */
export interface ModelProcess {
  readonly node: number;
  readonly kind: "prompt" | "busy";
  alive: boolean;
}

export interface ModelCall {
  readonly n: number;
  readonly node: number;
  /** The process that made it. Undefined: code outside of all processes did. */
  readonly owner: ModelProcess | undefined;
  readonly callee: ModelProcess;
  readonly deadline: number;
  readonly withdraws: boolean;
  /** How it has ended. */
  end: string | undefined;
  /** The caller's code has heard of the end: not when the caller has exited. */
  isHeard: boolean;
}

/** What a node has of a call of another one: the request of its callee, or a reply address that was passed on. */
interface Request {
  readonly call: ModelCall;
  readonly node: number;
  readonly callee: ModelProcess | undefined;
  open: boolean;
}

/** A reply address in the hands of code. Without a request it is at the node of the caller, and is the call itself. */
export interface Place {
  readonly call: ModelCall;
  readonly node: number;
  readonly request: Request | undefined;
}

/** What a test sees of a signal. */
export interface Seen {
  readonly type: string;
  readonly n: number;
  /** What a reply says. */
  readonly says: string;
}

interface Signal extends Seen {
  readonly call: ModelCall;
  /** The receiver of a message or call. */
  readonly to: ModelProcess | undefined;
  /** The reply is that of the callee's own request. */
  readonly isCallees: boolean;
}

/** Commands name nodes by number. */
export class CallModel {
  now = 0;
  readonly nodes: readonly number[];
  readonly calls: ModelCall[] = [];
  readonly places: Place[] = [];
  readonly processes: ModelProcess[] = [];
  /** Replies that each node has discarded. */
  readonly discarded: number[];
  readonly #requests: Request[] = [];
  readonly #wires = new Map<string, Signal[]>();
  readonly #passages = new Map<string, Passage>();

  constructor(size: number) {
    this.nodes = Array.from({ length: size }, (_, node) => node);
    this.discarded = this.nodes.map(() => 0);
  }

  spawn(node: number, kind: ModelProcess["kind"]): void {
    this.processes.push({ node, kind, alive: true });
  }

  // ── what a test compares ──────────────────────────────────────────────────────────────────────────────────────

  open(node: number): number {
    return this.calls.filter((call) => call.node === node && call.end === undefined).length;
  }

  answering(node: number): number {
    return this.#requests.filter((request) => request.node === node && request.callee && request.open).length;
  }

  queuedAt(process: ModelProcess): number {
    return this.#requests.filter(({ callee, open }) => callee === process && open).length;
  }

  isOpen({ call, request }: Place): boolean {
    return request === undefined ? call.end === undefined : request.open;
  }

  wire(from: number, to: number): Signal[] {
    const key = `${from} ${to}`;
    const wire = this.#wires.get(key) ?? [];
    this.#wires.set(key, wire);
    return wire;
  }

  passage(from: number, to: number): Passage {
    return this.#passages.get(`${from} ${to}`) ?? "open";
  }

  // ── commands ──────────────────────────────────────────────────────────────────────────────────────────────────

  /** The caller may keep the reply address, and may send it to a process ahead of the call. */
  call(given: Omit<ModelCall, "n" | "end" | "isHeard">, keeps: boolean, ahead?: ModelProcess): void {
    const call: ModelCall = { ...given, n: this.calls.length, end: undefined, isHeard: true };
    this.calls.push(call);
    const place: Place = { call, node: call.node, request: undefined };
    if (keeps) this.places.push(place);
    if (ahead !== undefined) this.pass(place, ahead);
    const { callee, node } = call;
    if (!this.#emit(node, callee.node, call, { type: "call", to: callee }))
      call.end = "callee-exited noconnection kept";
  }

  /** Code answers where it has a reply address. */
  answer({ call, node, request }: Place, says: string): void {
    if (request === undefined) this.#settle(call, says, false);
    else if (request.open) this.#over(request, says);
    else this.discarded[node] = (this.discarded[node] ?? 0) + 1;
  }

  /** Code passes a reply address on. */
  pass({ call, node }: Place, to: ModelProcess): void {
    this.#emit(node, to.node, call, { type: "message", to });
  }

  abort(call: ModelCall): void {
    this.#giveUp(call, "aborted");
  }

  advance(ms: number): void {
    this.now += ms;
    for (const call of this.calls) if (call.deadline <= this.now) this.#giveUp(call, "timeout kept");
  }

  exit(process: ModelProcess): void {
    process.alive = false;
    const fate = process.kind === "prompt" ? "taken" : "withdrawn";
    for (const request of this.#requests)
      if (request.callee === process && request.open) this.#over(request, `callee-exited killed ${fate}`);
    for (const call of this.calls) {
      if (call.owner !== process || call.end !== undefined) continue;
      this.#giveUp(call, "caller exited");
      call.isHeard = false;
    }
  }

  /** The connection is lost, which neither node knows yet. */
  cut(a: number, b: number): void {
    for (const [from, to] of [
      [a, b],
      [b, a],
    ] as const) {
      this.wire(from, to).length = 0;
      this.#passages.set(`${from} ${to}`, "silent");
    }
  }

  /** A node notices the loss. Once the other one has noticed too, they meet again. */
  notice(node: number, other: number): void {
    this.#passages.set(`${node} ${other}`, "out");
    for (const call of this.calls)
      if (call.node === node && call.callee.node === other) call.end ??= "callee-exited noconnection kept";
    for (const request of this.#requests)
      if (request.node === node && request.callee && request.call.node === other) request.open = false;
    if (this.passage(other, node) !== "out") return;
    this.#passages.delete(`${node} ${other}`);
    this.#passages.delete(`${other} ${node}`);
  }

  /** The oldest signal of a call arrives; those of different calls may overtake each other. False when it may not be this one. */
  deliver(from: number, to: number, { type, n, says }: Seen): boolean {
    const wire = this.wire(from, to);
    const signal = wire.find((one) => one.n === n);
    if (signal === undefined || signal.type !== type || signal.says !== says) return false;
    wire.splice(wire.indexOf(signal), 1);
    this.#arrive(signal, to);
    return true;
  }

  // ── rules ─────────────────────────────────────────────────────────────────────────────────────────────────────

  #emit(from: number, to: number, call: ModelCall, signal: Partial<Signal> & { type: string }): boolean {
    const passage = this.passage(from, to);
    if (passage === "open")
      this.wire(from, to).push({ n: call.n, call, says: "", to: undefined, isCallees: false, ...signal });
    return passage !== "out";
  }

  #arrive({ type, call, to, says, isCallees }: Signal, node: number): void {
    if (type === "reply") this.#settle(call, says, isCallees);
    else if (type === "cancel") {
      for (const request of this.#requests)
        if (request.call === call && request.callee !== undefined) request.open = false;
    } else if (type === "call") this.#called(call, to as ModelProcess);
    else if (to?.alive) this.places.push({ call, node, request: this.#passed(call, node) });
  }

  #called(call: ModelCall, callee: ModelProcess): void {
    const { node } = callee;
    const request: Request = { call, node, callee, open: true };
    this.#requests.push(request);
    if (!callee.alive) this.#over(request, "callee-exited noproc withdrawn");
    else if (callee.kind === "prompt") this.places.push({ call, node, request });
  }

  /** What a reply address is at the node to which it was passed. */
  #passed(call: ModelCall, node: number): Request | undefined {
    if (node === call.node) return undefined;
    const known = this.#requests.find(
      (one) => one.call === call && one.node === node && one.callee && one.open,
    );
    if (known !== undefined) return known;
    const request: Request = { call, node, callee: undefined, open: true };
    this.#requests.push(request);
    return request;
  }

  /** A request of another node ends: that node hears how. */
  #over(request: Request, says: string): void {
    const { call, node, callee } = request;
    request.open = false;
    this.#emit(node, call.node, call, { type: "reply", says, isCallees: callee !== undefined });
  }

  /** The caller's node learns of an end. */
  #settle(call: ModelCall, says: string, isCallees: boolean): void {
    if (call.end !== undefined) {
      if (!says.startsWith("callee-exited")) this.discarded[call.node] = (this.discarded[call.node] ?? 0) + 1;
      return;
    }
    if (isCallees) call.end = says;
    else this.#giveUp(call, says);
  }

  /** The call ends, and its callee's node has to learn of it. */
  #giveUp(call: ModelCall, how: string): void {
    if (call.end !== undefined) return;
    call.end = how;
    if (call.withdraws) this.#emit(call.node, call.callee.node, call, { type: "cancel" });
  }
}
