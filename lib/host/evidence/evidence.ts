// The evidence of one durable host: which subjects may be blamed for the end of its program, and which may run after it. The rules are in
// evidence-machine.ts; here they meet files, timers and the witness.
//
// How a host uses it:
//
//     const evidence = openEvidence({ place: evidencePlaceOf(options.evidence, store), who: "flows", now, after, opened });
//     evidence.find("flow:7")             // at what an earlier life left behind: its mark, and whether it may run; held ones wait for `opened`
//     const subject = evidence.begin("flow:7");
//     subject.own(pid);                   // if the process runs code of this subject only
//     subject.run(() => code(input));     // each time that code of the user begins: its awaits and its callbacks belong to the subject
//     subject.progressed();               // after a commit
//     subject.end();
//     evidence.taken("flow:7");           // the mark is stored with the subject
//     evidence.close();
//
// Hosts of a store that several processes share count together where their lives end: `isCounted`, and after opening, `share(store, claim)`.
//
// A mark is stored by its host where the subject is stored, and apart from the attempts of retries.

import type { Fence, Store } from "../../store/index.js";
import {
  decide,
  type EvidenceEffect,
  type EvidenceEvent,
  type EvidenceMark,
  type EvidenceState,
  initial,
  isNews,
  type LifeEnd,
  markOf,
  nextAge,
  SHORT_LIFE_MS,
} from "./evidence-machine.js";
import type { EvidenceFolder, EvidencePlace } from "./evidence-place.js";
import { type EvidenceView, evidenceView, parsed, stateIn } from "./evidence-view.js";
import { StandingRows } from "./standing-rows.js";
import { type Accountable, readNote, type WitnessKeeper, witness } from "./witness.js";

export interface EvidenceOptions {
  /** Where it is kept from one life to the next. Undefined: no subject is ever blamed, and none waits. */
  readonly place: EvidencePlace | undefined;
  /** The kind of host, and its id if it has one that it keeps: hosts of a name find the evidence of each other. */
  readonly who: string;
  /**
   * The fencing token of the host, if it has one. Tokens of a store grow: a folder whose last host had this one or a larger one was left by hosts
   * of another store, at the same address.
   */
  readonly token?: number;
  /** At which subjects lives end is counted in a store, over all its hosts: {@link Evidence.share} follows. */
  readonly isCounted?: boolean;
  /** An id of no other host: the name of this one where it is counted. */
  id?(): string;
  /** Milliseconds since 1970. */
  now(): number;
  /** Calls `fn` after this time, unless what it returns is called before. */
  after(ms: number, fn: () => void): () => void;
  /** Subjects that had to wait may be found again. */
  opened(): void;
}

/** The finding about a subject that an earlier life left behind. */
export interface Finding {
  /** Evidence against it that is not stored with it yet. */
  readonly mark: EvidenceMark | undefined;
  /** False: it waits for `opened`. */
  readonly mayRun: boolean;
}

/** A subject that runs. */
export interface Subject {
  /** Runs code in its name, with all that the code awaits or leaves behind. */
  run<T>(fn: () => T): T;
  /** All code of this process, by its pid, is this subject's: its awaits carry the subject's name at no cost. */
  own(process: object): void;
  /** It has committed progress: no search suspects it. */
  progressed(): void;
  /** It has ended, or runs here no more. */
  end(): void;
}

/** No subject: for the code of a replay, which has no effects. */
export const NOBODY: Subject = {
  run: (fn) => fn(),
  own: () => undefined,
  progressed: () => undefined,
  end: () => undefined,
};

/** Opens the evidence of a host. Never throws: without a file system, or with a full one, no subject is blamed. */
export function openEvidence(options: EvidenceOptions): Evidence {
  return new Evidence(options);
}

export class Evidence {
  readonly #options: EvidenceOptions;
  readonly #folder: EvidenceFolder | undefined;
  readonly #keeper: WitnessKeeper;
  readonly #startedAt: number;
  #state: EvidenceState;
  #answer: "let" | "hold" = "let";
  #isOpen = true;
  /** Ends the wait for the next age. Undefined: there is none. */
  #aging: (() => void) | undefined;
  /** Its name among the hosts of a store. It lives as long as the folder. */
  readonly #host: string | undefined;
  /** The last life ended without a word, and at which subject, if that is one time more. */
  #lastEnd: { readonly subject: string | undefined } | undefined;
  #rows: StandingRows | undefined;
  /** The row of this host has the last end. A second time it would be another end. */
  #isShared = false;

  constructor(options: EvidenceOptions) {
    this.#options = options;
    this.#startedAt = options.now();
    this.#folder = options.place?.open(options.who);
    this.#keeper = keeperOf(this.#folder, options.now);
    const lives = parsed(this.#folder?.read("lives"));
    const isOther = options.token !== undefined && Number(lives?.token) >= options.token;
    this.#state = isOther ? initial() : restored(lives);
    if (this.#folder === undefined) return;
    this.#host = !isOther && typeof lives?.host === "string" ? lives.host : options.id?.();
    witness.join(this.#keeper);
    const end = this.#state.life === 0 ? undefined : endOf(this.#folder, options.now());
    for (const file of ["end", "spin", "now"] as const) this.#folder.remove(file);
    const { stood } = this.#state;
    this.#dispatch({ type: "started", end, isCounted: options.isCounted === true });
    const { stood: stands } = this.#state;
    if (end?.type === "unknown") this.#lastEnd = { subject: stands === stood ? undefined : stands?.subject };
    this.#ageLater();
  }

  /**
   * Counts with the other hosts of a store: writes how the last life of this one ended, once, and watches the others until `close`. For evidence
   * that {@link EvidenceOptions.isCounted | is counted}.
   *
   * @throws StoreError
   */
  async share(store: Store, claim: Fence): Promise<void> {
    if (this.#folder === undefined || this.#host === undefined || !this.#options.isCounted) return;
    this.#rows ??= new StandingRows(store, claim, this.#host, () => this.#told());
    await this.#rows.open(this.#isShared ? undefined : this.#lastEnd);
    this.#isShared = true;
    this.#told();
    this.#forget();
  }

  /** The rows of other hosts may have changed. */
  #told(): void {
    if (this.#rows?.isAlarming) this.alarm();
  }

  /** The program of another host ended without a word, and this host may take over its subjects: it notes which one runs, for a while. */
  alarm(): void {
    if (this.#folder === undefined || !this.#isOpen) return;
    this.#dispatch({ type: "alarmed", ms: this.#age, isUnnamed: this.#rows?.isUnnamed === true });
    this.#ageLater();
  }

  /** Removes the row of this host when its ends no longer count. If the last life ended without a word, this life must be long as well. */
  #forget(): void {
    const { stood, agedMs } = this.#state;
    if (stood === undefined && (this.#lastEnd === undefined || agedMs >= SHORT_LIFE_MS)) this.#rows?.forget();
  }

  get #age(): number {
    return Math.max(0, this.#options.now() - this.#startedAt);
  }

  /** The number of this life of the program, from 1; 0 where no evidence is kept. */
  get life(): number {
    return this.#state.life;
  }

  /** The evidence against a subject that is not stored with it yet. */
  markOf(subject: string): EvidenceMark | undefined {
    return markOf(this.#state, subject) ?? this.#rows?.markOf(subject, this.life);
  }

  /** A subject that an earlier life left behind wants to run. */
  find(subject: string): Finding {
    const mark = this.markOf(subject);
    if (this.#folder === undefined) return { mark, mayRun: true };
    this.#dispatch({ type: "found", subject });
    return { mark, mayRun: this.#answer === "let" };
  }

  /** What it says, for people. */
  view(): EvidenceView {
    return evidenceView(this.#options.who, this.#state, this.#rows?.all);
  }

  /** No subject is marked, and none has to wait. */
  get isCalm(): boolean {
    const { marks, search } = this.#state;
    return marks.length === 0 && search === undefined && (this.#rows?.isEmpty ?? true);
  }

  /** The mark of a subject is stored. */
  taken(subject: string): void {
    this.#dispatch({ type: "taken", subject });
    this.#rows?.charged(subject);
  }

  begin(subject: string): Subject {
    return new Running(subject, this.#keeper, this);
  }

  /** @internal A subject has committed progress. */
  progressed(subject: string): void {
    if (!this.#isOpen) return;
    if (isNews(this.#state, subject)) this.#dispatch({ type: "progressed", subject });
    this.#rows?.progressed(subject);
  }

  /** The host stops, and the program goes on. */
  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#aging?.();
    witness.leave(this.#keeper);
    this.#dispatch({ type: "closed" });
    this.#keeper.left();
    this.#forget();
    this.#rows?.close();
    const { marks, isWatched, isCarrying } = this.#state;
    this.#folder?.close(marks.length === 0 && !isWatched && !isCarrying);
  }

  #dispatch(event: EvidenceEvent): void {
    const [state, effects] = decide(this.#state, event);
    const isChanged = state !== this.#state;
    this.#state = state;
    if (isChanged) this.#folder?.write("lives", this.#lives());
    for (const effect of effects) this.#carryOut(effect);
  }

  #lives(): string {
    return JSON.stringify({ ...this.#state, token: this.#options.token, host: this.#host });
  }

  #carryOut(effect: EvidenceEffect): undefined {
    switch (effect.type) {
      case "let":
      case "hold":
        this.#answer = effect.type;
        return;
      case "open":
        this.#options.opened();
        return;
      case "carry":
        if (effect.on) witness.carry(this.#keeper);
        else witness.uncarry(this.#keeper);
        return;
      case "watch":
        if (effect.on) witness.watch(this.#keeper);
        else witness.unwatch(this.#keeper);
        return;
      default:
        return effect satisfies never;
    }
  }

  #ageLater(): void {
    const next = nextAge(this.#state);
    if (next === undefined || this.#aging !== undefined) return;
    const { now, after } = this.#options;
    this.#aging = after(Math.max(1, next - this.#age), () => {
      this.#aging = undefined;
      if (!this.#isOpen) return;
      // A clock that was set back makes no life younger.
      this.#dispatch({ type: "aged", ms: Math.max(next, this.#age), at: now() });
      this.#forget();
      this.#ageLater();
    });
  }
}

class Running implements Subject, Accountable {
  readonly subject: string;
  readonly keeper: WitnessKeeper;
  readonly #evidence: Evidence;
  /** The process that runs only code of this subject. */
  #process: object | undefined;
  isOpen = true;

  constructor(subject: string, keeper: WitnessKeeper, evidence: Evidence) {
    this.subject = subject;
    this.keeper = keeper;
    this.#evidence = evidence;
  }

  run<T>(fn: () => T): T {
    return witness.run(this, fn);
  }

  own(process: object): void {
    if (!this.isOpen) return;
    this.#process = process;
    witness.own(process, this);
  }

  progressed(): void {
    this.#evidence.progressed(this.subject);
  }

  end(): void {
    this.isOpen = false;
    if (this.#process !== undefined) witness.disown(this.#process);
  }
}

function keeperOf(folder: EvidenceFolder | undefined, now: () => number): WitnessKeeper {
  return {
    ended: (subject, kind) => folder?.write("end", JSON.stringify({ subject, kind, at: now() })),
    wentOn: () => folder?.remove("end"),
    namelessly: (kind) => folder?.write("end", JSON.stringify({ kind, at: now() })),
    left: () => folder?.write("end", "{}"),
    note: (bytes) => folder?.note(bytes),
    spinPath: folder?.pathOf("spin"),
  };
}

/** The end of the last life, from its files. A spin counts before an end that was written while it lasted. */
function endOf(folder: EvidenceFolder, now: number): LifeEnd {
  const end = parsed(folder.read("end"));
  const { subject, kind, at } = parsed(folder.read("spin")) ?? end ?? {};
  if (kind === "exit" || kind === "uncaught" || kind === "spin") {
    if (typeof subject === "string" && typeof at === "number") return { type: "evidence", subject, kind, at };
    if (kind !== "spin" && subject === undefined) return { type: "nameless" };
  }
  if (end !== undefined) return { type: "clean" };
  const standing = readNote(folder.read("now"));
  return { type: "unknown", at: now, ...(standing === undefined ? {} : { standing }) };
}

function restored(lives: Record<string, unknown> | undefined): EvidenceState {
  // A state of another version of the library is one of no value.
  return stateIn(lives) ?? initial();
}
