// Compensation: undo steps for what cannot be rolled back, run the last first.

import type { FlowContext, Saga, StepContext } from "../definition/context.js";
import { callable } from "../definition/names.js";

/** The undo list of a flow. Its undo steps are steps like others: at least once, each in the journal. */
export function openSaga(flow: Pick<FlowContext, "step">): Saga {
  const undos: { readonly name: string; readonly run: () => Promise<unknown> }[] = [];
  return {
    async step(name, body, undo, options) {
      callable(`undo of step "${name}"`, undo);
      const result = await flow.step(name, body, options);
      const run = (): Promise<unknown> =>
        flow.step(`undo ${name}`, (step: StepContext) => undo(result, step) as undefined, options);
      undos.push({ name, run });
      return result;
    },
    async rollback() {
      const errors: unknown[] = [];
      const failed: string[] = [];
      for (let undo = undos.pop(); undo !== undefined; undo = undos.pop()) {
        try {
          await undo.run();
        } catch (error) {
          errors.push(error);
          failed.push(`undo ${undo.name}`);
        }
      }
      if (errors.length > 0) throw new AggregateError(errors, `not undone: ${failed.join(", ")}`);
    },
  };
}
