// Traffic from flows and users to other flows: starts, messages, requests to pause or end, and notices of an end. Each is a set of writes,
// and the asking flow commits it with its checkpoint.

import type { Values } from "../../host/payload/values.js";
import type { Write } from "../../store/index.js";
import { checked } from "../definition/checked.js";
import type { AnyFlow, FlowDefinition } from "../definition/define.js";
import { resolved } from "../journal/blobs.js";
import { decided, type FlowWrites, joined, rowGets, rowIs } from "../journal/changes.js";
import type { Stored } from "../journal/entry.js";
import {
  asFound,
  BORN_TOPIC,
  type FlowRow,
  flows,
  isEnded,
  MAIL_TOPIC,
  REQUEST_TOPIC,
} from "../journal/tables.js";
import { checkTiming } from "../queues/options.js";
import { MORE_TOPIC } from "../queues/tables.js";
import { type EndNotice, endNotices, restartNotices } from "../sessions/end-notices.js";
import { mailWrites } from "./checkpoint.js";
import { FlowIdTakenError, UnknownFlowError } from "./errors.js";
import type { HostState } from "./host-state.js";
import type { NewChild, NewFlow } from "./port.js";
import { findFlow, rowOf } from "./reading.js";
import { newRow } from "./starting.js";

/** Topics of messages that users send; sessions and children have others. */
export const MESSAGE = "message/";
/** Children that one commit cancels. */
const CHILDREN = 500;

type Action = "cancel" | "kill" | "pause" | "resume";

export class Outgoing {
  readonly #host: HostState;

  constructor(host: HostState) {
    this.#host = host;
  }

  async childOf(
    parent: FlowRow,
    flow: AnyFlow,
    input: unknown,
    { id, key, isLeft }: NewChild,
  ): Promise<FlowWrites> {
    const definition = this.known(flow.name, flow.version);
    // If another caller started the flow, the parent would never be notified of its end.
    const known = await findFlow(this.#host.store, id);
    if (known !== undefined && (known.parent !== parent.number || known.parent_key !== key))
      throw new FlowIdTakenError(id, known.name, flow.name);
    const stored = await inputOf(this.#host.payloads, definition, input, id);
    const trace = this.traceOf(flow.name, id, parent);
    return this.startOf(id, definition, stored, { parent: parent.number, parentKey: key, isLeft, trace });
  }

  /** The writes that start a flow that any host may take, unless there is one with this id. */
  startOf(
    id: string,
    { name, version, options }: FlowDefinition<never>,
    input: Stored,
    more: Pick<NewFlow, "parent" | "parentKey" | "isLeft" | "trace"> = { trace: this.traceOf(name, id) },
  ): FlowWrites {
    const timing = checkTiming({}, options.queue, this.#host.settings.queues);
    const row = newRow({ id, name, version, input, timing, ...more }, this.#host.now());
    const writes: Write[] = [];
    const kept = this.#host.blobs.split(input, `input/${id}`, writes);
    return {
      writes: [
        {
          type: "offer",
          table: flows,
          row: { ...row, input: kept, ...(row.waiting === null && { due: 0 }) },
        },
        ...writes,
      ],
      notify: [row.waiting === null ? BORN_TOPIC + id : MORE_TOPIC + row.waiting],
    };
  }

  /** The trace of a flow that another flow starts, or that a schedule or the host itself starts. */
  traceOf(name: string, id: string, from?: FlowRow): string | undefined {
    const { taps } = this.#host.kernel;
    return taps?.continuing(from?.trace ?? null, () => taps.flowStarting(name, id));
  }

  known(name: string, version: number | undefined): FlowDefinition<never> {
    const definition = this.#host.definition(name, version);
    if (definition === undefined)
      throw new UnknownFlowError(name, version, this.#host.settings.definitions.ids);
    return definition;
  }

  async answererOf(from: FlowRow, flow: AnyFlow, id: string): Promise<FlowWrites> {
    const definition = this.known(flow.name, flow.version);
    const input = await inputOf(this.#host.payloads, definition, undefined, id);
    return this.startOf(id, definition, input, { trace: this.traceOf(flow.name, id, from) });
  }

  /**
   * A flow has been cancelled or killed: cancels its children, except those that it left to themselves, and those of spared asks. They
   * cancel theirs. Each page is a commit; a repeated call finds the children that were not reached.
   */
  async cancelChildren(number: number, isSpared: (key: string) => boolean = () => false): Promise<void> {
    const { store, claim } = this.#host;
    // Behind all that the flow has submitted: no child of it is on its way after this.
    await store.commit({ claim, writes: [] });
    for (let after = 0; ; ) {
      const page = { index: "parent", prefix: [number], after, limit: CHILDREN };
      const rows = await decided(async () => {
        const children = await store.scan(flows, page);
        const bound = children.filter((row) => isBound(row) && !isSpared(row.parent_key ?? ""));
        if (bound.length > 0) await this.apply(joined(bound.map((row) => this.#requested(row, "cancel"))));
        return children;
      });
      if (rows.length < CHILDREN) return;
      after = (rows.at(-1) as FlowRow).number;
    }
  }

  /** Notifies the flows that wait for the end of this one, once. A killed flow could not cancel its children itself. */
  async notifyPeers(row: FlowRow): Promise<void> {
    if (row.status === "killed") await this.cancelChildren(row.number);
    const [outcome = null] = await resolved(this.#host.store, [row.outcome]);
    const { notices, writes } = await endNotices(this.#host.store, { ...row, outcome }, (stored) =>
      this.#host.payloads.decode(stored),
    );
    const sent = await this.#posted(row, notices);
    const expect = [rowIs(row, { due: 0, mail: row.mail })];
    await this.apply(joined([{ expect, writes: [rowGets(row, { due: null }), ...writes] }, ...sent]));
  }

  /**
   * A flow has begun anew, and has written nothing since: notifies the peers of its sessions, once. Returns the positions of messages that it
   * does not get any more.
   */
  async leaveSessions(row: FlowRow): Promise<ReadonlySet<number>> {
    const { store, payloads } = this.#host;
    const { notices, writes, read } = await restartNotices(store, row, (stored) => payloads.decode(stored));
    if (writes.length === 0) return read;
    const sent = await this.#posted(row, notices);
    const { holder, status, generation } = row;
    await this.apply(joined([{ expect: [rowIs(row, { holder, status, generation })], writes }, ...sent]));
    return read;
  }

  /** The writes that send these notices to those flows that still exist. */
  async #posted({ id: from }: FlowRow, notices: readonly EndNotice[]): Promise<FlowWrites[]> {
    const parts: FlowWrites[] = [];
    for (const { to, topic, id, message } of notices)
      if ((await findFlow(this.#host.store, to)) !== undefined)
        parts.push(await this.mail(to, topic, message, id, from));
    return parts;
  }

  async mailTo(from: FlowRow, id: string, topic: string, value: unknown, key: string): Promise<FlowWrites> {
    return this.mail(id, topic, value, `${from.number}/${from.generation}/${key}`, from.id);
  }

  async mail(
    id: string,
    topic: string,
    value: unknown,
    messageId: string,
    sender: string | null,
  ): Promise<FlowWrites> {
    const row = await rowOf(this.#host.store, id);
    const name = topic.startsWith(MESSAGE) ? topic.slice(MESSAGE.length) : undefined;
    const schemas = this.#host.definition(row.name, row.version)?.options.messages;
    const schema = name !== undefined && schemas && Object.hasOwn(schemas, name) ? schemas[name] : undefined;
    const good = await checked(schema, value, { type: "message", flow: row.name, topic: name ?? topic });
    const stored = await this.#host.payloads.encode(good, `message "${topic}" to flow ${id}`, "message");
    const writes: Write[] = [];
    const kept = this.#host.blobs.split(stored, `flow/${row.number}`, writes);
    return {
      writes: [...writes, ...mailWrites(row.number, messageId, topic, kept, sender, this.#host.now())],
      notify: [MAIL_TOPIC + row.number],
    };
  }

  async control(id: string, action: Action): Promise<FlowWrites> {
    const row = await rowOf(this.#host.store, id);
    return isEnded(row) ? { writes: [] } : this.#requested(row, action);
  }

  #requested(row: FlowRow, action: Action): FlowWrites {
    const { number, status } = row;
    // A resting flow is taken, and then carries out the request.
    const rests = status === "paused" || (status === "hospitalized" && action === "cancel");
    const woken = rests && action !== "pause" ? { status: "waiting" } : {};
    const set = { wish: action === "resume" ? null : action, due: 0, ...woken, updated: this.#host.now() };
    return {
      writes: [rowGets(row, set)],
      expect: [rowIs(row, asFound(row))],
      notify: [REQUEST_TOPIC + number],
    };
  }

  async apply({ writes, expect = [], notify = [] }: FlowWrites): Promise<void> {
    await this.#host.store.commit({ claim: this.#host.claim, writes, expect, notify });
  }
}

/** A child that is to be cancelled with its parent, and is not yet. */
function isBound(row: FlowRow): boolean {
  return row.on_cancel === null && !isEnded(row) && row.wish !== "cancel" && row.wish !== "kill";
}

/** Checks and encodes an input. */
export function inputOf(
  payloads: Values,
  { name, options }: FlowDefinition<never>,
  input: unknown,
  id: string,
): Stored | Promise<Stored> {
  const encode = (good: unknown): Stored | Promise<Stored> =>
    payloads.encode(good, `flow ${name} "${id}"`, "input");
  if (options.input === undefined) return encode(input);
  const good = checked(options.input, input, { type: "input", flow: name });
  return good instanceof Promise ? good.then(encode) : encode(good);
}
