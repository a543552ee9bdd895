// The history of one system: what it sees goes to history-machine.ts, and what that asks for is read and built here. It sees the ends of
// processes, dead letters and discarded replies as the witness of the kernel, and everything else by the events of the system. While nobody
// looks it is neither a witness nor a listener, and keeps nothing.

import type { DiscardedReply, SystemEventMap } from "../../process/events.js";
import type { DeadLetterReason } from "../../process/exit-reason.js";
import type { Kernel } from "../../process/kernel.js";
import { listenerFailed } from "../../process/listening.js";
import { overhear } from "../../process/onlookers.js";
import { outside } from "../../process/origin.js";
import type { Pid } from "../../process/pid.js";
import type { ExitReason } from "../../process/reason.js";
import { cut } from "../../process/show.js";
import type { EndedProcess, Witness } from "../../process/witness.js";
import type { DynamicEvent, DynamicState } from "../../supervisor/dynamic-protocol.js";
import type { Event } from "../../supervisor/protocol.js";
import type { State } from "../../supervisor/state.js";
import { Breakers } from "./breakers.js";
import { Changes } from "./changes.js";
import {
  type Detail,
  decide,
  HISTORY_LIMITS,
  type State as HistoryState,
  initial,
} from "./history-machine.js";
import { keptFor } from "./kept.js";
import { changesOf } from "./listing.js";
import { OCCURRENCES, type Occurrence, pidCause, placeCause } from "./occurrences.js";
import type { Overview } from "./operations.js";
import { changedBy, changedIn, type MachineState } from "./supervised.js";
import {
  addressKey,
  addressText,
  errorKey,
  errorView,
  kindOfEntry,
  reasonText,
  shown,
  whose,
} from "./texts.js";
import { TreeHistory } from "./tree-history.js";

/** Discarded replies that are described within a second: each costs an error with a stack. The others count as the last of them. */
const REPLIES_A_SECOND = 16;
/** Most characters of what tells incidents apart. */
const LONGEST_KEY = 300;

/** The last dead letter. */
interface DeadLetter {
  readonly to: Pid | string;
  readonly reason: DeadLetterReason;
  readonly key: string;
  /** Its receiver has ended, and that may be an incident. */
  readonly from: string | undefined;
}

export class History implements Witness {
  readonly #kernel: Kernel;
  #state: HistoryState = initial();
  /** By the reason that it spreads along links, the incident of a crash. */
  #crashes = new WeakMap<ExitReason, { readonly number: number; readonly at: number }>();
  #letter: DeadLetter | undefined = undefined;
  /** The kinds of the messages that function bodies took last. */
  #taken = new WeakMap<object, { kind: string | undefined }>();
  #breakers = new Breakers();
  readonly #changes: Changes;
  /** The supervision tree, as it is and as it was. */
  readonly tree: TreeHistory;
  /** How long the last long turn took. */
  lastLateMs: number | undefined = undefined;
  #replies = { second: 0, count: 0, key: "" };

  constructor(kernel: Kernel) {
    this.#kernel = kernel;
    this.tree = new TreeHistory(kernel);
    this.#changes = new Changes(kernel, () => ({ "breakers not closed": this.#breakers.all.length }));
  }

  get state(): HistoryState {
    return this.#state;
  }

  get breakers(): Overview["breakers"] {
    return this.#breakers.all;
  }

  /** What is not as it was a minute ago. */
  get changes(): Overview["minute"] {
    return [...this.#changes.all, ...changesOf(this.#state, this.#kernel.env.wallTime())];
  }

  /** Begins to look. Returns the call that ends it, and forgets everything. */
  begin(): () => void {
    const { events } = this.#kernel;
    const removals = Object.entries(OCCURRENCES).map(([name, read]) => {
      const event = name as keyof SystemEventMap;
      const listener = (given: never): void => {
        this.#noted(event, given);
        this.#happened((read as (event: never) => Occurrence)(given));
      };
      return overhear(events, event, listener as () => void);
    });
    this.#kernel.witness = this;
    this.tree.begin();
    this.#changes.begin();
    return () => {
      for (const remove of removals) remove();
      this.#kernel.witness = undefined;
      this.#changes.end();
      this.tree.end();
      this.#breakers = new Breakers();
      this.lastLateMs = undefined;
      this.#crashes = new WeakMap();
      this.#taken = new WeakMap();
      this.#letter = undefined;
      [this.#state] = decide(this.#state, { type: "forget" });
    };
  }

  // ── as a witness ──────────────────────────────────────────────────────────────────────────────────────────────

  ended(process: EndedProcess, reason: ExitReason, entry: unknown, alongLink: boolean): void {
    try {
      const { pid, parent } = process;
      const place = parent === undefined || pid.label === undefined ? [] : [placeCause(parent, pid.label)];
      const as = [pidCause(pid), ...place];
      const spread = alongLink ? this.#spreading(reason) : undefined;
      if (spread !== undefined) {
        [this.#state] = decide(this.#state, { type: "linked", number: spread, as });
        return;
      }
      const number = this.#happened({
        kind: "crash",
        key: `${addressKey(pid)} ${reasonKey(reason)}`,
        as,
        detail: () => this.#crash(process, reason, entry, alongLink),
      });
      this.#crashes.set(reason, { number, at: this.#kernel.env.now() });
    } catch (error) {
      this.#failed(error);
    }
  }

  took(process: object, entry: unknown): void {
    const kind = kindOfEntry(entry);
    const taken = this.#taken.get(process);
    if (taken !== undefined) taken.kind = kind;
    else this.#taken.set(process, { kind });
  }

  supervises(supervisor: Pid, state: MachineState): void {
    this.#seen(() => this.tree.begun(supervisor, state));
  }

  decided(supervisor: Pid, before: State<Pid>, after: State<Pid>, event: Event<Pid>): void {
    this.#seen(() => this.tree.changed(supervisor, after, changedBy(before, after, event)));
  }

  changed(supervisor: Pid, state: DynamicState<Pid>, event: DynamicEvent<Pid>): void {
    this.#seen(() => this.tree.changed(supervisor, state, changedIn(state, event)));
  }

  deadLetter(to: Pid | string, reason: DeadLetterReason): void {
    try {
      const before = this.#letter;
      // In a storm, each is like the one before.
      if (before === undefined || before.to !== to || before.reason !== reason)
        this.#letter = letterTo(to, reason);
      const { key, from } = this.#letter as DeadLetter;
      this.#happened({ kind: "deadLetter", key, from, detail: () => deadLetterTo(to, reason) });
    } catch (error) {
      this.#failed(error);
    }
  }

  discardedReply(describe: () => DiscardedReply): void {
    try {
      const second = Math.floor(this.#kernel.env.now() / 1_000);
      if (this.#replies.second !== second) this.#replies = { ...this.#replies, second, count: 0 };
      this.#replies.count++;
      const known = this.#replies.count > REPLIES_A_SECOND;
      const reply = known ? undefined : describe();
      if (reply !== undefined) this.#replies.key = `${reply.error.name} ${addressKey(reply.callee)}`;
      this.#happened({
        kind: "discardedReply",
        key: this.#replies.key,
        detail: () => discarded(reply ?? describe()),
      });
    } catch (error) {
      this.#failed(error);
    }
  }

  /** What an event says beside the incident that it is. */
  #noted(event: keyof SystemEventMap, given: never): void {
    if (event === "breaker") this.#breakers.changed(given, this.#kernel.env.wallTime());
    else if (event === "longTurn") this.lastLateMs = (given as SystemEventMap["longTurn"][0]).elapsedMs;
  }

  // ── to the machine ────────────────────────────────────────────────────────────────────────────────────────────

  /** Gives the number of the incident that it is, or that it was folded into. */
  #happened({ kind, key, as, from, uses, reason, detail }: Occurrence): number {
    const cause = reason === undefined ? undefined : this.#causeOf(reason, from ?? uses);
    const at = this.#kernel.env.wallTime();
    const short = key.length > LONGEST_KEY ? cut(key, LONGEST_KEY) : key;
    const event = { type: "happened", kind, key: short, at, as, from, uses, cause } as const;
    const [state, [effect]] = decide(this.#state, event);
    this.#state = state;
    const number = effect?.number ?? 0;
    if (effect?.type !== "describe") return number;
    // What a user has thrown may do anything while it is read, such as crash another process.
    outside(() => {
      [this.#state] = decide(this.#state, { type: "described", kind, number, detail: detail() });
    });
    return number;
  }

  /**
   * The incident of the crash that this reason came from. The words, such as `killed`, are the same objects for all processes, and a custom
   * reason may be: there the name of the cause says more, if it is known.
   */
  #causeOf(reason: ExitReason, name?: string): number | undefined {
    const isNamed = name !== undefined && this.#state.causes.get(name) !== undefined;
    if (reason.type === "crash" || (reason.type === "custom" && !isNamed))
      return this.#crashes.get(reason)?.number;
    return undefined;
  }

  /** The same of a reason that spreads along links now: the last process that ended with this word is meant. */
  #spreading(reason: ExitReason): number | undefined {
    const found = this.#crashes.get(reason);
    if (found === undefined || this.#kernel.env.now() - found.at >= HISTORY_LIMITS.foldMs)
      return this.#causeOf(reason);
    return found.number;
  }

  #crash(process: EndedProcess, reason: ExitReason, entry: unknown, alongLink: boolean): Detail {
    const { pid, parent, rare } = process;
    const when = rare?.onStart === undefined ? "" : " while it started";
    const along = alongLink ? " along a link" : "";
    const last = kindOfEntry(entry) ?? this.#taken.get(process)?.kind;
    return {
      ...whose(pid, parent),
      text: shown(`${addressText(pid)} ended${when}${along}: ${reasonText(reason)}`),
      reason: reasonText(reason),
      ...(reason.type === "crash" && { error: errorView(reason.error) }),
      ...(last !== undefined && { last: shown(last, "name") }),
    };
  }

  #seen(look: () => void): void {
    try {
      look();
    } catch (error) {
      this.#failed(error);
    }
  }

  /** A look must not harm what it sees, whatever that is. */
  #failed(error: unknown): void {
    listenerFailed(this.#kernel, "the history of the system", this, error);
  }
}

function letterTo(to: Pid | string, reason: DeadLetterReason): DeadLetter {
  const from = typeof to === "string" ? undefined : pidCause(to);
  return { to, reason, key: `${reason} ${addressKey(to)}`, from };
}

function deadLetterTo(to: Pid | string, reason: DeadLetterReason): Detail {
  const whom = typeof to === "string" || to.id === 0 ? { label: shown(String(to), "name") } : whose(to);
  return { ...whom, text: shown(`a message to ${addressText(to)} reached no process: ${reason}`), reason };
}

/** What tells reasons apart. */
function reasonKey(reason: ExitReason): string {
  return reason.type === "crash" ? errorKey(reason.error) : reasonText(reason);
}

function discarded({ callee, caller, error }: DiscardedReply): Detail {
  const by = caller === undefined ? "" : ` to ${addressText(caller)}`;
  const text = shown(`a reply of ${addressText(callee)}${by} was discarded: ${error.name}`);
  return typeof callee === "string" || callee.id === 0
    ? { label: shown(String(callee), "name"), text }
    : { ...whose(callee), text };
}

const all = new WeakMap<Kernel, History>();

/** The history of a system. It is kept while {@link keptFor} is on. */
export function historyFor(kernel: Kernel): History {
  const known = all.get(kernel);
  if (known !== undefined) return known;
  const history = new History(kernel);
  all.set(kernel, history);
  keptFor(kernel).add(() => history.begin());
  return history;
}
