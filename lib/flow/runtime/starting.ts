// Starts of flows that are asked of a host: their rows, and whether a flow of this id and input is there.

import { isCurable } from "../../host/background/background.js";
import { ConflictError, type Write, type WriteSet } from "../../store/index.js";
import { release, releaseAll, resolved } from "../journal/blobs.js";
import { rowGets, rowIs } from "../journal/changes.js";
import type { Stored } from "../journal/entry.js";
import { BORN_TOPIC, type FlowRow, flows } from "../journal/tables.js";
import type { Debounce } from "../queues/options.js";
import { MORE_TOPIC } from "../queues/tables.js";
import { FlowIdTakenError, FlowInputDiffersError } from "./errors.js";
import type { HostState } from "./host-state.js";
import type { Started } from "./messages.js";
import type { NewFlow } from "./port.js";
import { findFlow, rowOf } from "./reading.js";

/** How long after a page of starts the host looks for them at the latest, if more pages follow: to run them would slow those down. */
const LOOK_MS = 5_000;

export class Starting {
  readonly #host: HostState;

  constructor(host: HostState) {
    this.#host = host;
  }

  /** @throws UnknownFlowError, FlowIdTakenError, StoreError */
  async start(flow: NewFlow): Promise<Started> {
    this.#host.outgoing.known(flow.name, flow.version);
    if (flow.timing?.debounce !== undefined) return this.#startOnce(flow, flow.timing.debounce);
    const row = newRow(flow, this.#host.now());
    const writes: Write[] = [];
    const input = this.#host.blobs.split(row.input, `input/${row.id}`, writes);
    const isReady = row.waiting === null && row.due === null;
    const atOnce = isReady && this.#host.acquisition.startsHere();
    const begun = isReady ? { ...row, due: 0 } : row;
    const held = atOnce ? { ...row, status: "running", holder: this.#host.claim.token, epoch: 1 } : begun;
    let number = 0;
    try {
      number = await this.#offer({ ...held, input }, writes, {
        claim: this.#host.claim,
        notify: topicsOfStart(row, isReady && !atOnce && this.#host.store.shared),
      });
      if (number > 0 && atOnce) this.#host.runs.begin({ ...held, number }, [], []);
    } catch (error) {
      // The answer may be all that was lost: then the flow is there, and this host holds it.
      if (isCurable(error)) this.#host.acquisition.takeBorn(row.id);
      throw error;
    } finally {
      if (atOnce && number <= 0) this.#host.acquisition.left();
      if (isReady) this.#host.acquisition.vacated();
    }
    if (number <= 0) return this.#attached(await rowOf(this.#host.store, row.id), flow);
    if (row.due !== null) this.#host.acquisition.alarmAt(row.due);
    return { id: row.id, attached: false };
  }

  /** Inserts a flow unless its id is there, and returns its number, or 0. A large input is written with its flow alone. */
  async #offer(
    row: Omit<FlowRow, "number">,
    large: readonly Write[],
    set: Partial<WriteSet>,
  ): Promise<number> {
    const type = large.length === 0 ? "offer" : "insert";
    try {
      const { results } = await this.#host.store.commit({
        ...set,
        writes: [{ type, table: flows, row }, ...large],
      });
      return results[0] as number;
    } catch (error) {
      if (type === "insert" && error instanceof ConflictError) return 0;
      throw error;
    }
  }

  /** Starts a flow unless one waits for others like it: then that one gets the input, and more time. */
  async #startOnce(flow: NewFlow, { key, waitMs, atMostMs }: Debounce): Promise<Started> {
    const debounce = `${flow.name}/${key}`;
    for (;;) {
      const [found] = await this.#host.store.scan(flows, { index: "debounce", prefix: [debounce], limit: 1 });
      if (found !== undefined && isOf(found, flow.request)) return { id: found.id, attached: false };
      const due = Math.min(this.#host.now() + waitMs, (found?.created ?? this.#host.now()) + atMostMs);
      const fresh = { ...newRow(flow, this.#host.now()), waiting: null, due, debounce };
      const writes: Write[] = [];
      // The input that it had, and that is not read any more.
      if (found !== undefined) writes.push(releaseAll(`input/${found.id}`));
      const input = this.#host.blobs.split(fresh.input, `input/${found?.id ?? flow.id}`, writes);
      // One that waits in its queue already keeps its place there.
      const time = found !== undefined && found.waiting === null ? { due } : {};
      const set = { input, updated: this.#host.now(), ...time };
      const change: WriteSet =
        found === undefined
          ? { writes: [{ type: "insert", table: flows, row: { ...fresh, input } }, ...writes] }
          : {
              expect: [rowIs(found, { debounce, waiting: found.waiting })],
              writes: [...writes, rowGets(found, set)],
            };
      try {
        await this.#host.store.commit({ claim: this.#host.claim, ...change });
        this.#host.acquisition.alarmAt(due);
        return { id: found?.id ?? flow.id, attached: found !== undefined };
      } catch (error) {
        if (!(error instanceof ConflictError)) throw error;
        const same = await findFlow(this.#host.store, flow.id);
        if (same !== undefined && same.debounce !== debounce)
          return this.#attached(same, { ...flow, attach: true });
      }
    }
  }

  /**
   * Starts flows in one commit. They run when the host looks for what is due, so that a page of them is not slower than its writes.
   *
   * @throws UnknownFlowError, FlowIdTakenError, FlowInputDiffersError, StoreError
   */
  async startMany(all: readonly NewFlow[], isLast: boolean): Promise<readonly Started[]> {
    const { store, claim, acquisition } = this.#host;
    const writes: Write[] = [];
    const topics = new Set<string>();
    const now = this.#host.now();
    const places = all.map((flow) => {
      this.#host.outgoing.known(flow.name, flow.version);
      const input = this.#host.blobs.split(flow.input, `input/${flow.id}`, writes);
      const row = newRow({ ...flow, input }, now, 0);
      for (const topic of topicsOfStart(row, false)) topics.add(topic);
      if (row.due !== null) acquisition.alarmAt(Math.max(row.due, isLast ? now : now + LOOK_MS));
      return { at: writes.push({ type: "offer", table: flows, row }) - 1, input };
    });
    const { results } = await store.commit({ claim, writes, notify: [...topics] });
    const isNew = places.map(({ at }) => (results[at] ?? 0) > 0);
    // A page of offers is one commit, and a flow that was there already has an input of its own.
    const unused = places.flatMap(({ input }, i) => (isNew[i] ? [] : (release(input) ?? [])));
    if (unused.length > 0) await store.commit({ claim, writes: unused });
    const started: Started[] = [];
    for (const [i, flow] of all.entries())
      started.push(
        isNew[i] ? { id: flow.id, attached: false } : await this.#attached(await rowOf(store, flow.id), flow),
      );
    return started;
  }

  /** A flow of this id is there. A flow that began anew has another input by now. @throws FlowIdTakenError, FlowInputDiffersError */
  async #attached(row: FlowRow, { name, input, attach, request }: NewFlow): Promise<Started> {
    if (row.name !== name) throw new FlowIdTakenError(row.id, row.name, name);
    if (attach !== true && row.generation === 0) {
      const [known = null] = await resolved(this.#host.store, [row.input]);
      const decode = (stored: Stored): unknown => this.#host.payloads.decode(stored);
      if (!(await isSameInput(known, input, decode))) throw new FlowInputDiffersError(row.id, name);
    }
    return { id: row.id, attached: !isOf(row, request) };
  }
}

/** Whether this call has started the flow: a call is repeated when its host ended before it answered. */
const isOf = ({ id, request }: FlowRow, call: string | undefined): boolean =>
  call !== undefined && call === (request ?? id);

/** @param decode - makes the value again */
export async function isSameInput(
  one: Stored,
  other: Stored,
  decode: (stored: Stored) => unknown,
): Promise<boolean> {
  return isSame(one, other) || isSame(await decode(one), await decode(other));
}

/** Arrays, bytes, dates and plain objects by what they hold; all else by identity. */
function isSame(one: unknown, other: unknown): boolean {
  if (Object.is(one, other)) return true;
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) return false;
  const kind: unknown = Object.getPrototypeOf(one);
  if (kind !== Object.getPrototypeOf(other)) return false;
  if (kind === Map.prototype)
    return isSame([...(one as Map<unknown, unknown>)], [...(other as Map<unknown, unknown>)]);
  if (kind === Set.prototype) return isSame([...(one as Set<unknown>)], [...(other as Set<unknown>)]);
  if (Object.hasOwn(kind ?? {}, "getTime"))
    return (one as { getTime(): number }).getTime() === (other as { getTime(): number }).getTime();
  const names = Object.keys(one);
  return (
    names.length === Object.keys(other).length &&
    names.every(
      (name) =>
        Object.hasOwn(other, name) &&
        isSame((one as Record<string, unknown>)[name], (other as Record<string, unknown>)[name]),
    )
  );
}

/** The rank of a flow without priority. */
const LOWEST_RANK = 9;

/**
 * The row of a flow that is about to start.
 *
 * @param dueAtOnce - when it is due if it neither sleeps nor waits in a queue. Null: the host that starts it runs it
 */
export function newRow(flow: NewFlow, now: number, dueAtOnce: number | null = null): Omit<FlowRow, "number"> {
  const { queue, lane = "", rank = LOWEST_RANK, delayMs = 0 } = flow.timing ?? {};
  return {
    id: flow.id,
    name: flow.name,
    version: flow.version,
    status: "pending",
    input: flow.input,
    outcome: null,
    seed: flow.id,
    generation: 0,
    holder: null,
    epoch: 0,
    due: delayMs > 0 ? now + delayMs : queue === undefined ? dueAtOnce : null,
    mail: 0,
    crashes: 0,
    taken_at: 0,
    parent: flow.parent ?? null,
    parent_key: flow.parentKey ?? null,
    on_cancel: flow.isLeft === true ? "leave" : null,
    wish: null,
    queue: queue ?? null,
    queue_key: lane,
    rank,
    waiting: delayMs === 0 ? (queue ?? null) : null,
    slot: null,
    debounce: null,
    hospital: null,
    progress: null,
    heartbeats: null,
    trace: flow.trace ?? null,
    // An id that was made for the start says as much.
    request: flow.request === undefined || flow.request === flow.id ? null : flow.request,
    created: now,
    updated: now,
    finished: null,
  };
}

/** Topics of the commit that starts a flow. `isLeft`: another host may take it. */
export function topicsOfStart({ id, waiting }: Omit<FlowRow, "number">, isLeft: boolean): string[] {
  if (waiting !== null) return [MORE_TOPIC + waiting];
  return isLeft ? [BORN_TOPIC + id] : [];
}
