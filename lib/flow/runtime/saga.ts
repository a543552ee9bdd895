// Compensation: undo steps for what cannot be rolled back, run the last first.

import type { FlowContext, Saga, StepContext } from "../definition/context.js";
import { callable } from "../definition/names.js";

/** The undo list of a flow. Its undo steps are steps like others: at least once, each in the journal. */
export function openSaga(flow: Pick<FlowContext, "step">): Saga {
  const undos: (() => Promise<unknown>)[] = [];
  return {
    async step(name, body, undo, options) {
      callable(`undo of step "${name}"`, undo);
      const result = await flow.step(name, body, options);
      undos.push(() =>
        flow.step(`undo ${name}`, (step: StepContext) => undo(result, step) as undefined, options),
      );
      return result;
    },
    async rollback() {
      const errors: unknown[] = [];
      for (let undo = undos.pop(); undo !== undefined; undo = undos.pop()) {
        try {
          await undo();
        } catch (error) {
          errors.push(error);
        }
      }
      if (errors.length > 0) throw new AggregateError(errors, "some undo steps failed");
    },
  };
}
