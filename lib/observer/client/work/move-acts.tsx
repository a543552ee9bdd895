// Messages that wait are moved to another route, or given up: one of them, or all of a queue.

import type { JSX } from "preact";
import type { GivenUp, Moved } from "../../../pipeline/operations/change-options.js";
import type { QueueDepth } from "../../../pipeline/operations/operations.js";
import { ActButton } from "../actions/act-button.js";
import { type ActField, reasonField } from "../model/act-form.js";
import { moveArgs, movedText } from "../model/moves.js";

interface MoveActsProps {
  /** The execution. */
  readonly id: string;
  /** Its queues, of which the reader chooses one; or the message that is meant. */
  readonly of: readonly QueueDepth[] | string;
  /** Why it cannot be done now. */
  readonly refusal: string | undefined;
}

export function MoveActs({ id, of, refusal }: MoveActsProps): JSX.Element {
  const message = typeof of === "string" ? of : undefined;
  const queues = typeof of === "string" ? [] : of;
  const routes = queues.flatMap(({ route }) => route ?? []);
  const queueField = (isRequired: boolean): ActField[] =>
    message !== undefined
      ? []
      : [
          {
            ...{ name: "queue", label: "Queue", kind: "choice", isRequired },
            choices: queues.map(({ queue }) => queue),
            help: isRequired ? "" : "None: all messages that no route takes",
          },
        ];
  const what = message === undefined ? "messages" : `message ${message}`;
  return (
    <>
      <ActButton
        label="Move"
        op="pipelines.move"
        question={`Move ${what} to another route?`}
        refusal={refusal}
        fields={[
          ...queueField(false),
          {
            ...{ name: "to", label: "Route that takes them", kind: "text", isRequired: true },
            help:
              routes.length === 0 ? "A route of the pipeline as it is now" : `Such as ${routes.join(", ")}`,
          },
          reasonField(false),
        ]}
        args={(values) => moveArgs(id, values, message)}
        done={(answer) => movedText("moved", answer as Moved)}
      >
        <p>They keep their ids, values and errors, and have all of their attempts again.</p>
      </ActButton>
      <ActButton
        label="Give up"
        op="pipelines.giveUp"
        isDangerous
        question={`Give ${what} up for good?`}
        refusal={refusal}
        fields={[...queueField(true), reasonField(true)]}
        args={(values) => moveArgs(id, values, message)}
        done={(answer) => movedText("given up", answer as GivenUp)}
      >
        <p>Nothing comes of them. Their values are kept.</p>
      </ActButton>
    </>
  );
}
