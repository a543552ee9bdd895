// The state that the parts of a flow's process share: what it runs, what it has asked for, what it waits to hear, and why it ends.
//
//     flow-process.ts    takes events, and carries out what the machine decides
//     flow-ends.ts       how the code begins, gets its outcomes, and ends
//     flow-asks.ts       how its asks become events of the machine
//     flow-attempts.ts   how the bodies of asks run
//     checkpoint.ts      what is written
//     flow-rest.ts       what a flow does that only waits

import type { Heartbeats } from "../../host/background/heartbeats.js";
import { isHostOver, type Subject } from "../../host/index.js";
import type { Context } from "../../process/context.js";
import type { EffectLoop } from "../../process/effect-loop.js";
import type { TimerRef } from "../../process/owned-timer.js";
import { processSignal } from "../../process/process-signal.js";
import { crash, NORMAL } from "../../process/reason.js";
import type { FlowDefinition } from "../definition/define.js";
import { outsideKey } from "../definition/names.js";
import type { Suspension } from "../hospital/record.js";
import { kindOf, type SymptomKind } from "../hospital/symptom.js";
import type { Entry, Stored } from "../journal/entry.js";
import type { FlowRow } from "../journal/tables.js";
import { initial } from "../machine/flow-machine.js";
import type { Ending, FlowEffect, FlowEvent, FlowState, UnreadMessage } from "../machine/state.js";
import { ACCEPT_MAIL } from "../sessions/tables.js";
import type { Call } from "./flow-call.js";
import type { FlowPort } from "./port.js";

/** The messages of the store, of timers and of the host to a flow's process. */
export type FlowMessage =
  | { readonly type: "stored"; readonly error: Error | undefined }
  | { readonly type: "drained" }
  | { readonly type: "mail"; readonly messages: readonly UnreadMessage[] }
  | { readonly type: "control"; readonly action: "cancel" | "kill" | "pause" | "stop" | "leave" }
  | {
      readonly type: "parked";
      readonly error: Error | undefined;
      readonly messages: readonly UnreadMessage[];
    };

export class FlowLife {
  readonly port: FlowPort;
  readonly row: FlowRow;
  readonly definition: FlowDefinition<never>;
  readonly state: FlowState;
  readonly subject: Subject;
  /** Only runs over the journal. */
  readonly isDry: boolean;
  /** Tells the machine. */
  readonly event: (event: FlowEvent) => void;
  ctx!: Context<never>;
  /** While it carries effects of the machine out, an ask comes from the body of a step. */
  loop!: Pick<EffectLoop<FlowState, FlowEvent, FlowEffect>, "isRunning">;
  /** The answer of the machine to the last ask for a version. */
  version = 0;
  /** Fires when the code, on its way over the journal, makes no further ask for too long. */
  stall: TimerRef | undefined;
  /** How the code answers queries. */
  readonly answers: Map<string, (argument: unknown) => unknown> = new Map();
  /** Asks whose outcomes the code has not seen. */
  readonly calls: Map<string, Call> = new Map();
  readonly sessions: Set<string> = new Set();
  /** Made when a step makes the first one, or the row has some. */
  heartbeats: Heartbeats | undefined;
  /** The time of the last outcome that the code has seen, and of the last write. */
  at: number;
  writtenAt = 0;
  progress: { readonly stored: Stored } | undefined;
  /** The key of the last outcome that the code has seen. */
  seen = "start";

  // ── cancellation ─────────────────────────────────────────────────────────────────────────────────────────────
  cancel: AbortController | undefined;
  /** The code has been notified of a cancellation. */
  isCancelled = false;
  /** The asks of children that it has started since then, to clean up: the cancellation spares them. */
  readonly spared: Set<string> = new Set();
  /** The cancellation of its children. The flow neither ends nor leaves memory before that is durable. */
  children: Promise<void> | undefined;

  // ── waiting ──────────────────────────────────────────────────────────────────────────────────────────────────
  /** When the flow's row shall say what the flow does, or when the flow leaves memory. */
  rest: TimerRef | undefined;
  /** The status in its row. */
  shown: "running" | "waiting";
  /** It is leaving memory: events wait until it is known whether it does. */
  parking = false;
  late: FlowEvent[] = [];

  // ── writes ───────────────────────────────────────────────────────────────────────────────────────────────────
  /** Writes and transactions that the store has not answered. */
  unanswered = 0;
  settled: (() => void) | undefined;
  /** With `verify`: the journal so far, the replay of it that runs, and whether it has grown since that began. */
  readonly kept: Entry[];
  verified: Promise<void> | undefined;
  hasGrown = false;
  readBacks = 0;

  // ── the end ──────────────────────────────────────────────────────────────────────────────────────────────────
  /** How the flow has ended, once that is durable. */
  ending: Ending | undefined;
  /** The store takes no more writes from the host: the host ends, and the next host that takes the flow runs it. */
  hasLostHost = false;
  failed: { readonly error: unknown; readonly kind: SymptomKind | undefined } | undefined;
  /** Errors that came out of the journal. */
  readonly recorded: WeakSet<object> = new WeakSet();
  /** The error of the code. */
  thrown: unknown;
  /** The code took another way than the one recorded, and the place of its last ask is being sought. Aborted: it fails without. */
  search: AbortController | undefined;

  constructor(
    port: FlowPort,
    row: FlowRow,
    definition: FlowDefinition<never>,
    history: readonly Entry[],
    messages: readonly UnreadMessage[],
    of: Pick<FlowLife, "isDry" | "event">,
  ) {
    this.port = port;
    this.row = row;
    this.definition = definition;
    this.isDry = of.isDry;
    this.event = of.event;
    this.subject = port.begin(row.id);
    this.state = initial(history, messages);
    this.kept = port.readBack ? [...history] : [];
    this.at = row.created;
    this.shown = row.status === "waiting" ? "waiting" : "running";
  }

  get flowId(): string {
    return this.row.id;
  }

  /** Where the flow stands: the ask that it waits for, or else the last one whose outcome it has seen. */
  get suspension(): Suspension {
    const [key = this.seen] = this.state.ops.keys();
    return { name: key, position: this.state.seq };
  }

  /** Others wait for word of this flow's end: peers of its sessions, and flows that asked for a session. */
  get owes(): boolean {
    if (this.sessions.size > 0 || this.row.wish === "kill" || this.state.ending?.status === "killed")
      return true;
    for (const topic of this.state.unread.keys()) if (topic.startsWith(ACCEPT_MAIL)) return true;
    return false;
  }

  get cancelling(): AbortController {
    this.cancel ??= processSignal((listener) => this.ctx.self.process?.perform(listener));
    return this.cancel;
  }

  tell(message: FlowMessage): void {
    this.ctx.self.process?.deliver(message, undefined);
  }

  /** The code has run as far as it can. */
  drained(): void {
    this.tell(DRAINED);
  }

  /** The store's answer to a write of the journal. */
  readonly stored = (error: Error | undefined): void => {
    this.tell(error === undefined ? STORED : { type: "stored", error });
    this.answered();
  };

  answered(): void {
    if (--this.unanswered === 0) this.settled?.();
  }

  /** The process ends as it is; the host, and its hospital, decide what becomes of the flow. */
  fail(error: unknown, kind?: SymptomKind): void {
    this.failed = { error, kind };
    this.port.kernel.stop(this.ctx.self.process as never, crash(error as Error), undefined);
  }

  /** The store refused what the flow had to write. */
  refused(error: Error): void {
    this.hasLostHost = isHostOver(error);
    this.fail(error, engineUnless(error));
  }

  /**
   * A timer of the engine, not of the flow's code: when its function throws, the engine has failed.
   *
   * @returns the timer, for `ctx.cancel`
   */
  after(ms: number, fn: () => void): TimerRef {
    return this.ctx.runAfter(ms, () => this.asEngine(fn));
  }

  /** Runs a function in which no code of the flow runs: its error is a failure of the engine, and the flow runs again. */
  asEngine<T>(fn: () => T): T | undefined {
    try {
      return fn();
    } catch (error) {
      this.fail(error, engineUnless(error));
      return undefined;
    }
  }

  end(): undefined {
    this.port.kernel.stop(this.ctx.self.process as never, NORMAL, undefined);
  }

  outside(key: string): string {
    return outsideKey(key, this.row.generation);
  }
}

/** The engine's own failure, unless the error says what it is. */
export function engineUnless(error: unknown): SymptomKind | undefined {
  return kindOf(error) === "code" ? "engine" : undefined;
}

const DRAINED: FlowMessage = { type: "drained" };
const STORED: FlowMessage = { type: "stored", error: undefined };
