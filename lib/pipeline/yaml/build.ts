// Makes the adapters, sources and routes of a file. It leaves out the parts that the shape has refused, and makes all others, so that all
// faults of configurations are reported at once.

import { OptionError } from "../../process/errors.js";
import { hideAll } from "../../process/hide.js";
import { showCause } from "../../process/show.js";
import { pathOf, type SchemaIssue, type StandardSchema } from "../../process/standard-schema.js";
import type { Adapter, BatchAdapter } from "../definition/adapter.js";
import type { Plan, PlannedLink } from "../definition/check.js";
import { type Condition, type FieldCondition, testOf } from "../definition/condition.js";
import { faultAt, type KeyedFault, type Keys, shortened } from "../definition/fault.js";
import {
  definePipeline,
  feed,
  type PipelineDefinition,
  type PipelineOptions,
} from "../definition/pipeline.js";
import { PIPELINE_DEFAULTS, type RoutePolicy } from "../definition/policy.js";
import { boundFaults } from "../definition/policy-shape.js";
import { queue } from "../definition/queue.js";
import { Route, type RouteOptions } from "../definition/route.js";
import { foundText } from "../definition/shape.js";
import type { Feed, Source } from "../definition/source.js";
import { POLICY_NAMES } from "./file-shape.js";
import { memberAt, type YamlFile } from "./read-yaml.js";
import type { MadeFor, MadeType, PipelineRegistry } from "./registry.js";

type Fields = Readonly<Record<string, unknown>>;

interface Target {
  readonly queue: string;
  readonly when: Condition | undefined;
  readonly keys: Keys;
}

interface MadeAdapter {
  readonly adapter: Adapter | BatchAdapter;
  readonly when: Condition | undefined;
  readonly keys: Keys;
}

interface MadeRoute {
  readonly name: string;
  readonly fields: Fields;
  readonly targets: readonly Target[];
  readonly adapters: readonly MadeAdapter[];
}

/** Makes what a file describes, in two steps: the parts, and then the pipeline if nothing is wrong with them. */
export class FileBuilder {
  readonly faults: KeyedFault[] = [];
  readonly #root: Fields;
  readonly #file: YamlFile;
  readonly #registry: PipelineRegistry;
  readonly #wrong: ReadonlySet<string>;
  readonly #routes: MadeRoute[] = [];
  readonly #feeds: { readonly feed: Feed | undefined; readonly link: PlannedLink }[] = [];
  /** Queues that are not known leave the graph unknown. */
  #isGraphKnown = true;

  constructor(file: YamlFile, registry: PipelineRegistry, wrong: readonly KeyedFault[]) {
    this.#root = fieldsOf(file.value);
    this.#file = file;
    this.#registry = registry;
    this.#wrong = new Set(
      wrong.flatMap(({ keys }) => keys.map((_, i) => JSON.stringify(keys.slice(0, i + 1)))),
    );
  }

  /** Whether something is wrong at a place, within it or around it. */
  #isWrong(keys: Keys): boolean {
    return this.#wrong.has(JSON.stringify(keys)) || this.#file.isFaulty(keys);
  }

  async make(): Promise<void> {
    const { name } = this.#root;
    const pipeline = typeof name === "string" ? name : "";
    this.#isGraphKnown = !this.#isUnknown(this.#root, "routes") && !this.#isUnknown(this.#root, "sources");
    this.#checkBounds(["defaults"], fieldsOf(this.#root.defaults));
    for (const [source, given] of Object.entries(fieldsOf(this.#root.sources)))
      await this.#makeSource(["sources", source], fieldsOf(given), {
        name: source,
        pipeline,
        route: undefined,
      });
    for (const [route, given] of Object.entries(fieldsOf(this.#root.routes)))
      await this.#makeRoute(["routes", route], fieldsOf(given), { name: "", pipeline, route });
  }

  /** Whether a member of this name is there, but is no object. */
  #isUnknown(fields: Fields, name: string): boolean {
    return this.#file.isFaulty([name]) || (fields[name] !== undefined && !isFields(fields[name]));
  }

  #checkBounds(keys: Keys, fields: Fields): void {
    if (!this.#isWrong(keys)) this.faults.push(...boundFaults(fields as Partial<RoutePolicy>, keys));
  }

  async #makeSource(keys: Keys, fields: Fields, made: MadeFor): Promise<void> {
    const type = typeof fields.type === "string" ? this.#registry.sources.get(fields.type) : undefined;
    const source = type === undefined ? undefined : await this.#create(type, keys, fields, made);
    const { to } = fields;
    if (typeof to !== "string" || this.#isWrong([...keys, "to"])) {
      this.#isGraphKnown = false;
      return;
    }
    const link: PlannedLink = { queue: to, keys: [...keys, "to"], conditional: false };
    this.#feeds.push({
      link,
      feed: source === undefined ? undefined : feed(renamed(made.name, source) as never, queue<unknown>(to)),
    });
  }

  async #makeRoute(keys: Keys, fields: Fields, made: MadeFor): Promise<void> {
    if (typeof fields.from !== "string" || this.#isWrong([...keys, "from"]) || this.#isWrong([...keys, "to"]))
      this.#isGraphKnown = false;
    this.#checkBounds(keys, fields);
    const targets = this.#targetsOf([...keys, "to"], fields.to);
    const adapters: MadeAdapter[] = [];
    const names = new Set<string>();
    const given = Array.isArray(fields.adapters) ? (fields.adapters as readonly unknown[]) : [];
    for (const [i, one] of given.entries()) {
      const here = [...keys, "adapters", i];
      const part = fieldsOf(one);
      const name = String(part.name ?? part.type);
      if (names.has(name))
        this.#refuse(
          [...here, part.name === undefined ? "type" : "name"],
          "unlike the other adapters of the route; give it another name",
          JSON.stringify(shortened(name)),
        );
      names.add(name);
      const when = this.#conditionOf([...here, "when"], part.when);
      const type = typeof part.type === "string" ? this.#registry.adapters.get(part.type) : undefined;
      if (type === undefined || this.#isWrong([...here, "name"])) continue;
      const adapter = await this.#create(type, here, part, { ...made, name });
      if (adapter !== undefined) adapters.push({ adapter: renamedAdapter(name, adapter), when, keys: here });
    }
    this.#routes.push({ name: made.route ?? "", fields, targets, adapters });
  }

  #targetsOf(keys: Keys, given: unknown): Target[] {
    if (given === undefined || this.#isWrong(keys)) return [];
    const isList = Array.isArray(given);
    const seen = new Set<string>();
    return (isList ? (given as readonly unknown[]) : [given]).flatMap((one, i) => {
      const here = isList ? [...keys, i] : keys;
      const name = String(typeof one === "string" ? one : fieldsOf(one).queue);
      const when = isFields(one) ? this.#conditionOf([...here, "when"], one.when) : undefined;
      if (seen.has(name)) {
        this.#refuse(here, "a queue that the route does not send to already", JSON.stringify(name));
        return [];
      }
      seen.add(name);
      return [{ queue: name, when, keys: here }];
    });
  }

  #conditionOf(keys: Keys, given: unknown): Condition | undefined {
    if (given === undefined || this.#isWrong(keys)) return undefined;
    const all = (Array.isArray(given) ? given : [given]) as readonly FieldCondition[];
    for (const [i, one] of all.entries()) {
      try {
        testOf("", one);
      } catch (error) {
        if (!(error instanceof OptionError)) throw error;
        const member = error.path.replace(/^\./, "");
        const here = [...keys, ...(Array.isArray(given) ? [i] : []), member];
        this.#refuse(here, error.allowed, this.#shown(here));
      }
    }
    return given as Condition;
  }

  /** Makes an adapter or a source; undefined after a fault. */
  async #create<Made>(
    type: MadeType<Made>,
    keys: Keys,
    { config }: Fields,
    made: MadeFor,
  ): Promise<Made | undefined> {
    const here = [...keys, "config"];
    if (this.#isWrongWithin(here)) return undefined;
    let checked: unknown;
    if (type.config === undefined) {
      if (config !== undefined && config !== null) {
        this.#refuse(here, `absent, since ${type.type} has no configuration`, this.#shown(here));
        return undefined;
      }
    } else {
      const result = await this.#validated(type.config, config ?? {}, here);
      if (result === undefined) return undefined;
      checked = result.value;
    }
    try {
      const created = type.create(checked as never, made);
      if (made.route === undefined ? isSource(created) : isAdapter(created)) return created;
      const wanted = made.route === undefined ? "a source, from its type" : "an adapter, from its type";
      this.#refuse(keys, wanted, created === undefined ? "undefined" : `a value of type ${typeof created}`);
    } catch (error) {
      const within = error instanceof OptionError ? keysIn(config, error.path) : [];
      if (error instanceof OptionError && within.length > 0) {
        const at = [...here, ...within];
        this.#refuse(at, this.#hidden(error.allowed), this.#shown(at));
      } else
        this.#refuse(
          here,
          `a configuration of ${type.type} that can be used: ${this.#thrown(error)}`,
          this.#shown(here),
        );
    }
    return undefined;
  }

  #isWrongWithin(keys: Keys): boolean {
    return this.#isWrong(keys) || this.#file.hasFaultWithin(keys);
  }

  async #validated(
    schema: StandardSchema,
    config: unknown,
    keys: Keys,
  ): Promise<{ readonly value: unknown } | undefined> {
    try {
      const result = await schema["~standard"].validate(config);
      if (result.issues === undefined) return { value: result.value };
      for (const issue of result.issues) this.#refuseIssue(issue, keys);
    } catch (error) {
      this.#refuse(keys, `valid: its schema threw ${this.#thrown(error)}`, this.#shown(keys));
    }
    return undefined;
  }

  #refuseIssue(issue: SchemaIssue, keys: Keys): void {
    const here = [...keys, ...pathOf(issue).map((key) => (typeof key === "number" ? key : String(key)))];
    this.#refuse(here, `valid: ${this.#hidden(String(issue.message))}`, this.#shown(here));
  }

  /** Without its stack, and not as a cause: both could hold values of the environment. */
  #thrown(error: unknown): string {
    return this.#hidden(showCause(error));
  }

  #hidden(message: string): string {
    return hideAll(message, this.#file.secrets);
  }

  /** A value as it is written in the file. */
  #shown(keys: Keys): string {
    return foundText(this.#file.writtenAt(keys));
  }

  #refuse(keys: Keys, allowed: string, found: string): void {
    this.faults.push(faultAt(keys, allowed, found));
  }

  /** The graph, if all of its queues are known. */
  plan(): Plan | undefined {
    if (!this.#isGraphKnown || this.#routes.length === 0) return undefined;
    const { maxHops } = this.#root;
    return {
      // A limit that is no number has a fault of its own, but it is stated.
      maxHops: maxHops === undefined ? undefined : typeof maxHops === "number" ? maxHops : Number.MAX_VALUE,
      feeds: this.#feeds.map(({ link }) => link),
      routes: this.#routes.map(({ name, fields, targets, adapters }) => ({
        name,
        keys: ["routes", name],
        from: String(fields.from),
        firstMatch: fields.firstMatch === true,
        to: targets.map(({ queue, when, keys }) => ({ queue, keys, conditional: when !== undefined })),
        batches: adapters.flatMap(({ adapter, keys }) =>
          "batch" in adapter ? [{ keys: [...keys, "config"], limits: adapter.batch }] : [],
        ),
      })),
    };
  }

  /** The pipeline of a file without faults. */
  pipeline(): PipelineDefinition {
    const root = this.#root;
    const options: Record<string, unknown> = { configuration: frozen(this.#file.written) };
    for (const name of ["description", "inFlight", "maxHops", "maxMessageBytes"])
      if (root[name] !== undefined) options[name] = root[name];
    if (root.defaults !== undefined) {
      const defaults = policiesOf(fieldsOf(root.defaults));
      const { retry } = defaults;
      options.defaults =
        retry === undefined
          ? defaults
          : { ...defaults, retry: { ...PIPELINE_DEFAULTS.route.retry, ...(retry as object) } };
    }
    return definePipeline(String(root.name), {
      ...(options as Partial<PipelineOptions>),
      sources: this.#feeds.flatMap((one) => (one.feed === undefined ? [] : [one.feed])),
      routes: this.#routes.map(({ name, fields, targets, adapters }) => {
        const own = policiesOf(fields);
        for (const key of ["description", "firstMatch"])
          if (fields[key] !== undefined) own[key] = fields[key];
        return new Route<never>(
          name,
          { ...own, from: queue(String(fields.from)) } as unknown as RouteOptions<never>,
          adapters.map(({ adapter, when }) => ({ adapter, when })),
          targets.map((one) => ({ queue: queue(one.queue), when: one.when })),
        );
      }),
    });
  }
}

/** The policies among the fields of a route. */
function policiesOf(fields: Fields): Record<string, unknown> {
  const policies: Record<string, unknown> = {};
  for (const name of POLICY_NAMES) if (fields[name] !== undefined) policies[name] = fields[name];
  return policies;
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function fieldsOf(value: unknown): Fields {
  return isFields(value) ? value : {};
}

function isSource(value: unknown): boolean {
  return isFields(value) && typeof value.open === "function";
}

function isAdapter(value: unknown): boolean {
  if (!isFields(value)) return false;
  const { process, processBatch, batch } = value;
  if (processBatch === undefined) return typeof process === "function";
  return typeof processBatch === "function" && isFields(batch);
}

/** An adapter under the name that the file gives it. */
function renamedAdapter(name: string, adapter: Adapter | BatchAdapter): Adapter | BatchAdapter {
  if (adapter.name === name) return adapter;
  const rest = {
    name,
    ...(adapter.open === undefined ? {} : { open: (signal: AbortSignal) => adapter.open?.(signal) }),
    ...(adapter.close === undefined ? {} : { close: () => adapter.close?.() }),
  };
  return "processBatch" in adapter
    ? { ...rest, batch: adapter.batch, processBatch: (values, ctx) => adapter.processBatch(values, ctx) }
    : { ...rest, process: (value, ctx) => adapter.process(value, ctx) };
}

function renamed(name: string, source: Source<unknown, never>): Source<unknown, never> {
  return source.name === name ? source : { name, open: (ctx) => source.open(ctx) };
}

function frozen<T>(value: T): T {
  if (typeof value === "object" && value !== null) {
    for (const inner of Object.values(value)) frozen(inner);
    Object.freeze(value);
  }
  return value;
}

/** Where an option is in a configuration, as far as the configuration has it under this path. Empty: nowhere. */
function keysIn(config: unknown, path: string): (string | number)[] {
  const keys = (path.match(/[^.[\]]+/g) ?? []).map((key) => (/^\d+$/.test(key) ? Number(key) : key));
  for (let length = keys.length; length > 0; length--)
    if (memberAt(config, keys.slice(0, length)) !== undefined)
      return keys.slice(0, Math.min(length + 1, keys.length));
  return [];
}
