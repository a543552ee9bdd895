// Flux's own rules read a definition: any topology is the same one afterwards.

import { fc, test } from "@fast-check/vitest";
import { fluxDefinition, fluxText } from "signalbox/storm";
import {
  bolt,
  type Field,
  field,
  grouping,
  shellBolt,
  spout,
  type Topology,
  topology,
} from "signalbox/topology";
import { describe, expect } from "vitest";
import { formOf } from "../../../lib/topology/definition/grouping-form.js";
import { madeBy } from "../../../lib/topology/definition/made-by.js";
import { builtByFlux, type ModelComponent } from "./flux-model.js";

const types = [field.text, field.number, field.boolean, field.of()] as const;
const fields = fc.dictionary(fc.constantFrom("a", "b", "ref", "word", "größe"), fc.constantFrom(...types), {
  maxKeys: 4,
});
const streams = fc.dictionary(fc.constantFrom("out", "default", "more", "reflist"), fields, {
  minKeys: 1,
  maxKeys: 3,
});
const count = fc.integer({ min: 1, max: 5 });
const shape = fc.record({ streams, tasks: count, executors: count });
const text = fc.string({ maxLength: 5, unit: "binary" });
const subscription = fc.record({
  at: fc.nat(),
  kind: fc.constantFrom(
    "shuffle",
    "fields",
    "partialKey",
    "all",
    "global",
    "localOrShuffle",
    "none",
    "direct",
  ),
});
const reader = fc.record({
  ...{ shape, from: fc.array(subscription, { minLength: 1, maxLength: 3 }), maxPending: count },
  shell: fc.option(fc.record({ env: fc.dictionary(text, text), conf: fc.dictionary(text, fc.jsonValue()) })),
});

type Fields = Readonly<Record<string, Field<unknown>>>;

/** A topology of components that each read some streams of those before them; a direct stream is read by one bolt alone. */
const topologies = fc
  .record({
    spouts: fc.array(shape, { minLength: 1, maxLength: 2 }),
    bolts: fc.array(reader, { minLength: 1, maxLength: 4 }),
  })
  .map(({ spouts, bolts }): Topology => {
    let builder = topology("random") as never as {
      spout(...given: unknown[]): typeof builder;
      bolt(...given: unknown[]): typeof builder;
      build(): Topology;
    };
    const known: { key: string; fields: Fields }[] = [];
    const taken = new Map<string, "direct" | "other">();
    for (const [at, { streams: own, tasks, executors }] of spouts.entries()) {
      builder = builder.spout(`s${at}`, spout({ streams: own, next: () => undefined }), { tasks, executors });
      for (const [stream, ofStream] of Object.entries(own))
        known.push({ key: `s${at}.${stream}`, fields: ofStream });
    }
    for (const [at, { shape: own, from, shell, maxPending }] of bolts.entries()) {
      const subscriptions: Record<string, unknown> = {};
      for (const { at: index, kind } of from) {
        const { key, fields: ofStream } = known[index % known.length] as (typeof known)[number];
        const names = Object.keys(ofStream) as [string, ...string[]];
        const isKeyed = kind === "fields" || kind === "partialKey";
        const wanted = Object.keys(ofStream).length === 0 && isKeyed ? "all" : kind;
        const way = wanted === "direct" ? "direct" : "other";
        const isFree = (taken.get(key) ?? way) === way;
        const chosen = isFree ? wanted : taken.get(key) === "direct" ? "direct" : "shuffle";
        if (!taken.has(key)) taken.set(key, way);
        subscriptions[key] =
          chosen === "fields" || chosen === "partialKey" ? grouping[chosen](...names) : grouping[chosen]();
      }
      const options = { input: {}, streams: own.streams };
      const definition =
        shell === null
          ? bolt({ ...options, execute: () => undefined })
          : shellBolt({ ...options, command: "python3", args: ["a.py"], ...shell });
      const { tasks, executors } = own;
      builder = builder.bolt(`b${at}`, definition, { tasks, executors, maxPending, from: subscriptions });
      for (const [stream, ofStream] of Object.entries(own.streams))
        known.push({ key: `b${at}.${stream}`, fields: ofStream });
    }
    return builder.build();
  });

const FLUX = {
  shuffle: "SHUFFLE",
  all: "ALL",
  global: "GLOBAL",
  localOrShuffle: "LOCAL_OR_SHUFFLE",
} as const;

function groupingName(kind: string, names: readonly string[]): string {
  if (kind === "fields") return `FIELDS(${names.join(", ")})`;
  if (kind === "partialKey") return `PARTIAL_KEY(${names.join(", ")})`;
  return FLUX[kind as keyof typeof FLUX] ?? kind.toUpperCase();
}

/** What Storm has to run, of the blueprint. */
function wanted({ blueprint: { components, subscriptions } }: Topology): Record<string, ModelComponent> {
  return Object.fromEntries(
    components.map(({ name, kind, tasks, executors, streams: own, definition }) => {
      const made = madeBy(definition);
      const shell = made?.by === "shell" ? made : undefined;
      const inputs = subscriptions
        .filter(({ to }) => to === name)
        .map(({ from, stream, grouping: given }) => {
          const form = formOf(given);
          return [`${from}.${stream}`, groupingName(form?.kind as string, form?.fields ?? [])];
        });
      const component: ModelComponent = {
        ...{ kind, tasks, executors: Math.min(tasks, executors) },
        command: shell === undefined ? ["node", "component.mjs"] : ["python3", "a.py"],
        env: shell?.env ?? {},
        conf: Object.fromEntries(Object.entries(shell?.conf ?? {}).filter(([, value]) => value !== null)),
        streams: Object.fromEntries(Object.entries(own).map(([stream, of]) => [stream, Object.keys(of)])),
        inputs: Object.fromEntries(inputs),
      };
      return [name, component];
    }),
  );
}

describe("a Flux definition", () => {
  test.prop([topologies], { numRuns: 200 })(
    "of any topology is, to Flux, the same graph, with the same groupings, tasks and executors [N1442]",
    (any) => {
      const definition = fluxDefinition(any);
      const { components } = builtByFlux(fluxText(definition));
      expect(components).toEqual(JSON.parse(JSON.stringify(wanted(any))));
      expect(fluxText(fluxDefinition(any))).toBe(fluxText(definition));
    },
  );
});
