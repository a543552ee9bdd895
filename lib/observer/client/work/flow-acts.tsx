// What can be done with a flow, as buttons.

import type { JSX } from "preact";
import type { FlowSummary } from "../../../flow/operations/operations.js";
import { ActButton } from "../actions/act-button.js";
import { refusalOf } from "../model/flow-acts.js";
import { plural } from "../model/format.js";
import { go } from "../shell/router.js";

interface FlowActsProps {
  readonly flow: Pick<FlowSummary, "id" | "status">;
  /** How many flows it has started. */
  readonly started: number;
}

export function FlowActs({ flow: { id, status }, started }: FlowActsProps): JSX.Element {
  const own = { args: () => ({ id }) };
  return (
    <div class="acts">
      {status === "paused" ? (
        <ActButton
          {...own}
          label="Resume"
          op="resume"
          question={`Resume flow ${id}?`}
          refusal={refusalOf("resume", status)}
        />
      ) : (
        <ActButton
          {...own}
          label="Pause"
          op="pause"
          question={`Pause flow ${id}?`}
          refusal={refusalOf("pause", status)}
        >
          <p>It stops at its next step or wait, until it is resumed. A step that runs ends first.</p>
        </ActButton>
      )}
      <ActButton
        {...own}
        label="Discharge"
        op="discharge"
        question={`Discharge flow ${id} from the hospital?`}
        refusal={refusalOf("discharge", status)}
      >
        <p>It goes on at once, where it stood. If the cause is still there, it comes back.</p>
      </ActButton>
      <RetryButton id={id} status={status} />
      <ForkButton id={id} status={status} />
      <ActButton
        {...own}
        label="Cancel"
        op="cancel"
        isDangerous
        question={`Cancel flow ${id}?`}
        refusal={refusalOf("cancel", status)}
      >
        <p>
          All that it waits for rejects, and its code may clean up.
          {started > 0 ? ` It has started ${plural(started, "other flow")}.` : ""} A cancelled flow does not
          come back.
        </p>
      </ActButton>
      <ActButton
        {...own}
        label="Kill"
        op="kill"
        isDangerous
        question={`Kill flow ${id}?`}
        refusal={refusalOf("kill", status)}
      >
        <p>
          It ends without running its code again: nothing is cleaned up. Prefer Cancel, unless its code cannot
          run.
        </p>
      </ActButton>
    </div>
  );
}

interface AtStep {
  readonly id: string;
  readonly status: FlowSummary["status"];
  /** The step or wait. Undefined: what failed last, or everything. */
  readonly step?: string;
}

export function RetryButton({ id, status, step }: AtStep): JSX.Element {
  return (
    <ActButton
      label={step === undefined ? "Retry" : "Retry from here"}
      op="retry"
      isDangerous={step !== undefined}
      question={step === undefined ? `Retry flow ${id}?` : `Retry flow ${id} from ${step}?`}
      refusal={refusalOf("retry", status)}
      args={() => ({ id, ...(step !== undefined && { from: step }) })}
    >
      <p>
        {step === undefined
          ? "What failed last is done again."
          : `${step} and all that came after it are forgotten and done again, also what had succeeded.`}
      </p>
    </ActButton>
  );
}

export function ForkButton({ id, status, step }: AtStep): JSX.Element {
  return (
    <ActButton
      label={step === undefined ? "Fork" : "Fork from here"}
      op="fork"
      question={step === undefined ? `Start a copy of flow ${id}?` : `Start a copy of flow ${id} at ${step}?`}
      refusal={refusalOf("fork", status)}
      fields={[
        { name: "newId", label: "Id of the new flow", kind: "text", help: "Empty: a new id" },
        step === undefined
          ? { name: "input", label: "Another input (JSON)", kind: "json", help: "Empty: the same input" }
          : {
              name: "result",
              label: `Result of ${step} (JSON)`,
              kind: "json",
              help: "Empty: the step is done again",
            },
      ]}
      args={(values) => ({ id, ...(step !== undefined && { from: step }), ...values })}
      done={(answer) => {
        go("flow", { id: String(answer) });
        return "Forked.";
      }}
    >
      <p>
        {step === undefined
          ? "The new flow does everything from the beginning. This one stays as it is."
          : `The new flow has the history of this one up to ${step}. This one stays as it is.`}
      </p>
    </ActButton>
  );
}
