// A button that changes something: it asks first, and says how it went.

import type { ComponentChildren, JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import { useHello } from "../shell/session.js";

export interface ConfirmProps {
  /** What the button says. */
  readonly action: string;
  /** What happens then, in a sentence. */
  readonly text: ComponentChildren;
  readonly tone?: "brand" | "bad";
  /** Does it. Its error is shown. */
  run(): Promise<unknown>;
}

/** It is shown where the service allows actions. */
export function Confirm({ action, text, tone = "brand", run }: ConfirmProps): JSX.Element | null {
  const dialog = useRef<HTMLDialogElement>(null);
  const [state, setState] = useState<{ readonly isBusy: boolean; readonly problem?: string }>({
    isBusy: false,
  });
  if (!useHello().actions) return null;
  const open = (): void => {
    setState({ isBusy: false });
    dialog.current?.showModal();
  };
  const confirm = async (): Promise<void> => {
    setState({ isBusy: true });
    try {
      await run();
      setState({ isBusy: false });
      dialog.current?.close();
    } catch (error) {
      setState({ isBusy: false, problem: (error as Error).message });
    }
  };
  return (
    <>
      <button type="button" class="button" onClick={open}>
        {action}
      </button>
      <dialog ref={dialog} aria-label={action}>
        <h2>{action}?</h2>
        <p>{text}</p>
        {state.problem === undefined ? null : (
          <p role="alert" class="problem">
            {state.problem}
          </p>
        )}
        <div class="buttons">
          <button type="button" class="button" onClick={() => dialog.current?.close()}>
            Cancel
          </button>
          <button
            type="button"
            class={`button ${tone}`}
            disabled={state.isBusy}
            onClick={() => void confirm()}
          >
            {action}
          </button>
        </div>
      </dialog>
    </>
  );
}
