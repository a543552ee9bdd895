// The shape of a file. The names and units are those of the definitions in TypeScript.

import { OPERATORS } from "../definition/condition.js";
import { PIPELINE_POLICY_FIELDS, ROUTE_POLICY_FIELDS } from "../definition/policy-shape.js";
import type { Field, ObjectShape, Shape, TextShape } from "../definition/shape.js";
import type { PipelineRegistry } from "./registry.js";

/** As `checkName` has it. */
const NAME: TextShape = {
  type: "text",
  pattern: /^[A-Za-z][A-Za-z0-9_-]{0,63}$/,
  allowed: "a name of up to 64 letters, digits, _ and -, a letter first",
};

const DESCRIPTION: Field = { shape: { type: "text", allowed: "a text" }, description: "For people." };

const FIELD_CONDITION: ObjectShape = {
  type: "object",
  fields: {
    field: {
      shape: { type: "text", allowed: "the path of a field, such as address.country" },
      required: true,
      description: "The path of the field, such as address.country. Empty: the value itself.",
    },
    operator: {
      shape: { type: "words", words: OPERATORS },
      required: true,
      description: "How it compares.",
    },
    value: { shape: { type: "any" }, description: "What it is compared with." },
  },
};

const WHEN: Shape = {
  type: "either",
  forms: [FIELD_CONDITION, { type: "list", of: FIELD_CONDITION, least: 1 }],
};

const OUTBOUND: Shape = {
  type: "either",
  forms: [
    NAME,
    {
      type: "object",
      fields: {
        queue: { shape: NAME, required: true, description: "The queue." },
        when: {
          shape: WHEN,
          description: "Only results for which it is true go there. Of a list, all must be.",
        },
      },
    },
  ],
};

/** The policies of a route in a file. */
export const POLICY_NAMES: readonly string[] = Object.keys(ROUTE_POLICY_FIELDS);

const ANY: Shape = { type: "any" };

function typeField(types: ReadonlyMap<string, unknown>): Field {
  return { shape: { type: "words", words: [...types.keys()] }, required: true, description: "What it is." };
}

function adapterShape(registry: PipelineRegistry): ObjectShape {
  return {
    type: "object",
    kind: "adapter",
    fields: {
      type: typeField(registry.adapters),
      name: { shape: NAME, description: "Its name in lineage and metrics. Default: the type." },
      config: { shape: ANY, description: "What the type makes it from." },
      when: { shape: WHEN, description: "Other messages pass by it. Of a list, all must be true." },
    },
  };
}

function routeShape(registry: PipelineRegistry): ObjectShape {
  return {
    type: "object",
    fields: {
      description: DESCRIPTION,
      from: { shape: NAME, required: true, description: "The queue whose messages the route takes." },
      adapters: {
        shape: { type: "list", of: adapterShape(registry) },
        description: "What is done with each message, in this order.",
      },
      to: {
        shape: { type: "either", forms: [OUTBOUND, { type: "list", of: OUTBOUND }] },
        description: "The queues that results go to.",
      },
      firstMatch: {
        shape: { type: "flag" },
        description: "A result goes to the first queue whose condition holds, rather than to all of them.",
      },
      ...ROUTE_POLICY_FIELDS,
    },
  };
}

function sourceShape(registry: PipelineRegistry): ObjectShape {
  return {
    type: "object",
    kind: "source",
    fields: {
      type: typeField(registry.sources),
      config: { shape: ANY, description: "What the type makes it from." },
      to: { shape: NAME, required: true, description: "The queue that its messages go to." },
    },
  };
}

/** The shape of a file. */
export function fileShape(registry: PipelineRegistry): ObjectShape {
  return {
    type: "object",
    fields: {
      version: {
        shape: { type: "words", words: [1] },
        required: true,
        description: "The version of this format.",
      },
      name: { shape: NAME, required: true, description: "The name of the pipeline in the store." },
      description: DESCRIPTION,
      ...PIPELINE_POLICY_FIELDS,
      defaults: {
        shape: { type: "object", fields: ROUTE_POLICY_FIELDS },
        description: "Policies of all routes, where a route has none of its own.",
      },
      sources: {
        shape: { type: "record", key: NAME, of: sourceShape(registry) },
        description: "Where messages come from. Without any, they are given at the start of an execution.",
      },
      routes: {
        shape: { type: "record", key: NAME, of: routeShape(registry), least: 1 },
        required: true,
        description: "The routes, by name.",
      },
    },
  };
}
