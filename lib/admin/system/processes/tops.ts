// The first processes of a system. One walk at a time answers all questions that wait, and takes the figures for the rates of the next one.

import type { Kernel } from "../../../process/kernel.js";
import type { Process } from "../../../process/process.js";
import { pause, type Visitor, type Walked, walk } from "../../../process/walk.js";
import { keptFor } from "../../history/kept.js";
import { unheldTimer } from "../../unheld-timer.js";
import { Ages } from "./ages.js";
import { BusyProfile } from "./busy-profile.js";
import { Census, type CensusReader } from "./census.js";
import type { TopOptions, TopProcess, TopProcesses } from "./operations.js";
import { checkTop, type Figures, type TopQuery, TopSearch } from "./top-query.js";

/** Walks take at most one part of so many of the thread. The larger the system, the longer the pauses between walks. */
const SHARE = 100;
/** A pause that is shorter is left out. */
const SHORT_MS = 5;
/** Rates are taken over this time at least. */
const RATE_MS = 200;
/** Processes of {@link Tops.deepest}. */
const DEEPEST = 5;
/** How often the number of the newest process is noted, for ages. */
const AGE_MS = 1_000;

/** When the next walk may begin, in monotonic milliseconds. */
export function nextWalkAt(begun: number, costMs: number): number {
  return begun + costMs * SHARE;
}

type DeepMailbox = Pick<TopProcess, "pid" | "label" | "name" | "mailboxDepth">;

interface Question {
  readonly query: TopQuery;
  readonly answer: Promise<TopProcesses>;
  resolve(answer: TopProcesses): void;
  reject(error: unknown): void;
}

export class Tops {
  readonly #kernel: Kernel;
  /** The questions that wait for a walk, and those that one answers. Each has a caller that waits, so callers bound them. */
  #waiting = new Map<string, Question>();
  #walking = new Map<string, Question>();
  #isRunning = false;
  #deepest: readonly DeepMailbox[] | undefined = undefined;
  #handledPerS: number | undefined = undefined;
  #notBefore = Number.NEGATIVE_INFINITY;
  /** The figures that rates are taken from, the later ones that take their place when they are old enough, and columns for more. */
  #before: Census | undefined = undefined;
  #latest: Census | undefined = undefined;
  #latestAt = 0;
  #spare: Census | undefined = undefined;
  #ages = new Ages();
  #profile: BusyProfile | undefined = undefined;

  constructor(kernel: Kernel) {
    this.#kernel = kernel;
    keptFor(kernel).add(() => this.#keep());
  }

  /** @throws OptionError, SystemStoppedError */
  top(options?: TopOptions): Promise<TopProcesses> {
    const query = checkTop(options);
    keptFor(this.#kernel).touch();
    const key = JSON.stringify([query.by, query.limit, query.find, query.kind]);
    const same = this.#waiting.get(key) ?? this.#walking.get(key);
    if (same !== undefined) return same.answer;
    const { promise: answer, ...ends } = deferred<TopProcesses>();
    this.#waiting.set(key, { query, answer, ...ends });
    if (!this.#isRunning) void this.#run();
    return answer;
  }

  /** The deepest mailboxes that are not empty. While a walk has to wait, those of the last one. */
  async deepest(): Promise<readonly DeepMailbox[]> {
    const isEarly = this.#notBefore - this.#kernel.env.now() > SHORT_MS;
    if (!isEarly || this.#deepest === undefined) {
      const { processes } = await this.top({ limit: DEEPEST });
      this.#deepest = processes
        .filter(({ mailboxDepth }) => mailboxDepth > 0)
        .map(({ pid, label, name, mailboxDepth }) => ({ pid, label, name, mailboxDepth }));
    }
    return this.#deepest;
  }

  /** Messages and signals a second of all processes together that were alive at both of the last walks, or are new since the first. */
  get handledPerS(): number | undefined {
    return this.#handledPerS;
  }

  /** Walks until no question waits. */
  async #run(): Promise<void> {
    this.#isRunning = true;
    try {
      while (this.#waiting.size > 0) {
        const early = this.#notBefore - this.#kernel.env.now();
        if (early > SHORT_MS) await pause(this.#kernel, early);
        this.#walking = this.#waiting;
        this.#waiting = new Map();
        await this.#answer([...this.#walking.values()]);
      }
    } catch (error) {
      for (const one of [...this.#walking.values(), ...this.#waiting.values()]) one.reject(error);
      this.#walking = new Map();
      this.#waiting = new Map();
    } finally {
      this.#isRunning = false;
    }
  }

  async #answer(questions: readonly Question[]): Promise<void> {
    const { env, population } = this.#kernel;
    const begun = env.now();
    this.#note();
    this.#turnOver(begun);
    const census = this.#spare ?? new Census();
    this.#spare = undefined;
    census.reset(population);
    const searches = questions.map(({ query }) => new TopSearch(query));
    const visitor = new TopVisitor(census, this.#before?.reader(), this.#profile?.reader(begun), searches);
    const walked = await walk(this.#kernel, visitor);
    this.#notBefore = nextWalkAt(begun, walked.costMs);
    this.#keepFigures(census, begun);
    this.#handledPerS = Number.isNaN(visitor.allPerS) ? undefined : Math.round(visitor.allPerS);
    // Who asks from now on asks for a later walk.
    this.#walking = new Map();
    this.#tell(questions, searches, visitor.total, walked);
  }

  #turnOver(now: number): void {
    if (this.#latest === undefined || now - this.#latestAt < RATE_MS) return;
    this.#spare = this.#before;
    this.#before = this.#latest;
    this.#latest = undefined;
  }

  /** Walks follow each other closely when several look. Then the first of them has the figures for later rates. */
  #keepFigures(census: Census, begun: number): void {
    if (!keptFor(this.#kernel).isOn) return;
    if (this.#latest !== undefined) {
      this.#spare = census;
      return;
    }
    this.#latest = census;
    this.#latestAt = begun;
  }

  #tell(
    questions: readonly Question[],
    searches: readonly TopSearch[],
    total: number,
    { tookMs }: Walked,
  ): void {
    const { env } = this.#kernel;
    const at = env.wallTime();
    const now = env.now();
    const ageOf = (id: number): number | undefined => this.#ages.ageOf(id, now);
    for (const [i, search] of searches.entries())
      questions[i]?.resolve({
        at,
        total,
        matched: search.matched,
        walkMs: Math.round(tookMs * 10) / 10,
        processes: search.result(ageOf),
      });
  }

  #note(): void {
    const { newest, env } = this.#kernel;
    this.#ages.note(newest?.pid.id ?? 0, env.now());
  }

  /** Samples, and notes ages, while somebody looks. */
  #keep(): () => void {
    const { env, scheduler } = this.#kernel;
    if (scheduler.profile !== undefined) {
      this.#profile = new BusyProfile(env.now(), env.random);
      scheduler.profile(this.#profile);
    }
    this.#ages = new Ages();
    this.#note();
    const fire = (): void => {
      this.#note();
      cancel = unheldTimer(this.#kernel, AGE_MS, fire);
    };
    let cancel = unheldTimer(this.#kernel, AGE_MS, fire);
    return () => {
      cancel();
      scheduler.profile?.(undefined);
      this.#profile = undefined;
      this.#ages = new Ages();
      this.#before = undefined;
      this.#latest = undefined;
      this.#deepest = undefined;
      this.#handledPerS = undefined;
      this.#spare = undefined;
    };
  }
}

/** Takes the figures of each process, and shows them to all searches. */
class TopVisitor implements Visitor, Figures {
  total = 0;
  depth = 0;
  handled = 0;
  growthPerS: number = Number.NaN;
  handledPerS: number = Number.NaN;
  busy: number = Number.NaN;
  /** The sum of all `handledPerS`. */
  allPerS: number = Number.NaN;
  #now = 0;
  readonly #census: Census;
  readonly #before: CensusReader | undefined;
  readonly #shareOf: ((id: number) => number) | undefined;
  readonly #searches: readonly TopSearch[];

  constructor(
    census: Census,
    before: CensusReader | undefined,
    shareOf: ((id: number) => number) | undefined,
    searches: readonly TopSearch[],
  ) {
    this.#census = census;
    this.#before = before;
    this.#shareOf = shareOf;
    this.#searches = searches;
    if (before !== undefined) this.allPerS = 0;
  }

  slice(now: number): void {
    this.#now = now;
    this.#census.slice(now);
  }

  visit(process: Process): boolean {
    const { id } = process.pid;
    this.total++;
    this.depth = process.depth;
    this.handled = process.handled;
    this.#census.add(id, this.handled, this.depth);
    if (this.#before !== undefined) this.#rate(id, this.#before);
    if (this.#shareOf !== undefined) this.busy = this.#shareOf(id);
    for (const search of this.#searches) search.visit(process, this);
    return true;
  }

  #rate(id: number, before: CensusReader): void {
    // A process that is not there was spawned since: it began with nothing.
    const isThere = before.find(id);
    const seconds = (this.#now - before.time()) / 1_000;
    const perS = seconds > 0 ? 1 / seconds : Number.NaN;
    this.growthPerS = (this.depth - (isThere ? before.depth() : 0)) * perS;
    this.handledPerS = (this.handled - (isThere ? before.handled() : 0)) * perS;
    this.allPerS += this.handledPerS;
  }
}

function deferred<T>(): {
  readonly promise: Promise<T>;
  readonly resolve: (value: T) => void;
  readonly reject: (error: unknown) => void;
} {
  let resolve!: (value: T) => void;
  let reject!: (error: unknown) => void;
  const promise = new Promise<T>((done, failed) => {
    resolve = done;
    reject = failed;
  });
  return { promise, resolve, reject };
}

const all = new WeakMap<Kernel, Tops>();

/** The first processes of a system: one walk for all that look at it. */
export function topsOf(kernel: Kernel): Tops {
  const known = all.get(kernel);
  if (known !== undefined) return known;
  const tops = new Tops(kernel);
  all.set(kernel, tops);
  return tops;
}
