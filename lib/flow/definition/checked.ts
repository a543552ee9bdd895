// Values from outside, checked by the schemas of a flow's definition before anything is stored.

import { FlowInputError, MessageError, ProgressError } from "../../host/payload/errors.js";
import { type StandardSchema, validated } from "../../process/standard-schema.js";

/** Which value is checked. */
export type Subject =
  | { readonly type: "input"; readonly flow: string }
  | { readonly type: "message"; readonly flow: string; readonly topic: string }
  | { readonly type: "progress"; readonly flow: string };

/**
 * The output of the schema for a value; the value itself where there is no schema. A promise only if the schema is asynchronous.
 *
 * @throws FlowInputError, MessageError or ProgressError with all issues; or rejects with it
 */
export function checked<Output>(
  schema: StandardSchema<Output> | undefined,
  value: unknown,
  subject: Subject,
): Output | Promise<Output> {
  if (schema === undefined) return value as Output;
  return validated(schema, value, (issues) => {
    switch (subject.type) {
      case "input":
        return new FlowInputError(subject.flow, issues);
      case "message":
        return new MessageError(subject.flow, subject.topic, issues);
      case "progress":
        return new ProgressError(subject.flow, issues);
    }
  });
}
